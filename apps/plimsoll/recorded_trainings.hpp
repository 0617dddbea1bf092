#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"
#include "hardware/carbon.hpp"
#include "learn/training.hpp"
#include "store/store.hpp"

namespace plimsoll {

/// What is asked of recorded runs that were trainings.
struct TrainingQuestion {
  std::vector<learn::Target> targets;
  learn::Clock clock = learn::Clock::seconds;
  bool without_evaluation = false;
  std::string evaluation_metric = {};      ///< that tells its seconds so far; empty: one of the usual names
  std::string other_metric = {};           ///< of generalisation; its last value counts
  std::optional<MoneyPerHour> price = {};  ///< of one device
  const hardware::Grid* grid = nullptr;    ///< its emissions; none: not asked
  hardware::Overhead overhead = {};
};

/// A run's learning curves by the metrics that it told, and what it spent until its targets. Refused where
/// one of the metrics, or the clock, is not there.
[[nodiscard]] Result<learn::Training> recorded_training(store::Store& store, const store::Run& run,
                                                        const TrainingQuestion& question);

/// Why a run is no training that can be counted: it failed before it reached its target. Nothing where it
/// can.
[[nodiscard]] std::optional<std::string> unusable(const store::Run& run, const learn::Training& training,
                                                  const TrainingQuestion& question);

}  // namespace plimsoll
