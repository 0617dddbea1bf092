#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "learn/ranks.hpp"
#include "learn/spread.hpp"
#include "learn/survival.hpp"
#include "learn/training.hpp"

namespace plimsoll::learn {

struct StudyOptions {
  double confidence = 0.95;
  std::size_t dropped = 1;                  ///< at each end, of the olympic mean
  std::optional<double> step_seconds = {};  ///< of a step, where the clock counts steps
  std::size_t submitted = 0;                ///< runs of an MLPerf submission; 0: not asked
  std::size_t resamples = 2000;
  std::uint64_t seed = 1;
};

/// One set-up's runs, as times or, where their curves are known, as trainings.
struct Setup {
  std::string name;
  std::vector<Observation> observations = {};
  std::vector<Training> trainings = {};  ///< as many, or none
};

/// How the answer moves with the value that counts as reached.
struct AtThreshold {
  double value = 0;
  std::size_t reached = 0;
  std::optional<double> median = {};
};
/// And with how often it was looked at.
struct AtInterval {
  std::size_t every = 1;                ///< of the evaluations that were made
  std::optional<double> interval = {};  ///< between two of them, usual
  std::size_t reached = 0;
  std::optional<double> median = {};
};

/// What trained networks reach on data of another source.
struct Generalisation {
  std::size_t runs = 0;  ///< that told it
  Interval mean = {};
  std::optional<double> deviation = {};
  double least = 0, most = 0;
};

struct RunsFor {
  double difference = 0;  ///< a share
  std::size_t runs = 0;   ///< a side
};

/// All that is said of one set-up. Figures that the data cannot give are absent.
struct SetupStudy {
  std::string name = {};
  std::vector<Observation> observations = {};
  std::size_t reached = 0;
  Interval share = {};  ///< that reached it
  std::vector<SurvivalStep> survival = {};
  std::optional<Interval> median = {};
  double horizon = 0;  ///< of the restricted mean
  std::optional<Interval> restricted_mean = {};
  std::optional<Interval> mean = {};       ///< where all reached it
  std::optional<double> deviation = {};    ///< of those that reached it
  std::optional<Interval> variation = {};  ///< coefficient of variation of those that reached it
  std::optional<double> olympic = {};
  std::optional<Interval> next = {};  ///< one more run, where all reached it
  std::optional<ReferencePoint> reference = {};
  std::vector<RunsFor> runs_needed = {};  ///< for differences of 2, 5 and 10 %
  std::vector<AtThreshold> thresholds = {};
  std::vector<AtInterval> intervals = {};
  std::optional<Generalisation> generalisation = {};
};

enum class Winner {
  first,
  second,
  neither,  ///< the runs would show a difference if it were large enough, and do not
  too_few,  ///< runs: no outcome could have shown one
};
[[nodiscard]] std::string_view name(Winner winner);

struct Comparison {
  std::size_t first = 0, second = 0;  ///< places among the set-ups
  std::optional<RankTest> mann_whitney = {};
  std::optional<Interval> ratio = {};  ///< of the first's times to the second's
  LogRank log_rank = {};
  bool by_log_rank = false;  ///< the winner: where some did not reach it
  Winner winner = Winner::neither;
  /// Runs a side with which the difference that was seen would be found four times in five; nothing where
  /// none was seen or the spread is unknown.
  std::optional<std::size_t> runs_needed = {};
};

struct Study {
  std::vector<Target> targets = {};
  Clock clock = Clock::seconds;
  std::vector<SetupStudy> setups = {};
  std::vector<Comparison> comparisons = {};  ///< each with the first
};

[[nodiscard]] SetupStudy study_setup(const Setup& setup, std::span<const Target> targets, double horizon,
                                     const StudyOptions& options);
[[nodiscard]] Comparison compare(const SetupStudy& first, const SetupStudy& second,
                                 const StudyOptions& options);
/// `compared`: each set-up after the first is held against it. The horizon of restricted means is the same
/// for those: the earliest of their last times.
[[nodiscard]] Study study_of(std::span<const Setup> setups, std::span<const Target> targets, Clock clock,
                             bool compared, const StudyOptions& options);

/// The level of all tests.
inline constexpr double kLevel = 0.05;

}  // namespace plimsoll::learn
