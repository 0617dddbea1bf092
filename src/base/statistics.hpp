#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace plimsoll {

// What is said about repeated measurements: quantiles with intervals that assume nothing about how the
// samples are distributed, how many of the first to drop, and when there are enough. See docs/measuring.md.

/// The middle one, or the mean of the two in the middle. NaN of nothing.
[[nodiscard]] double median(std::span<const double> samples);

/// Ranks, counted from 1, of the order statistics between which a quantile lies; 0 where there are too few
/// samples for that end.
struct RankInterval {
  std::size_t low = 0;
  std::size_t high = 0;
  friend bool operator==(const RankInterval&, const RankInterval&) = default;
};
/// Exact, from the binomial distribution: as many of `samples` as Binomial(samples, quantile) says lie below
/// it. Each tail has at most half of 1 - confidence. Of 20 samples the median's, at 95 %: 6 and 15.
/// (Hahn and Meeker, Statistical Intervals, 1991, section 5.2.)
[[nodiscard]] RankInterval quantile_ranks(std::size_t samples, double quantile, double confidence);

struct Quantile {
  double value = 0;
  std::optional<double> low, high;  ///< nothing where there are too few samples to say
  friend bool operator==(const Quantile&, const Quantile&) = default;
};
/// The sample of rank ⌈quantile × n⌉ and its interval. `sorted` ascends and is not empty.
[[nodiscard]] Quantile quantile_of(std::span<const double> sorted, double quantile, double confidence);
/// median() and its interval; the samples may stand in any order. `samples` is not empty.
[[nodiscard]] Quantile median_of(std::span<const double> samples, double confidence);
/// The whole interval as a share of the value; nothing where an end is unknown or the value is 0.
[[nodiscard]] std::optional<double> relative_width(const Quantile& quantile);

/// How many of the first samples belong to warming up: the number that, dropped, makes the standard error of
/// what is left smallest (MSER: White, Simulation 69(6), 1997), sought in the first half; from 50 samples on
/// in groups of five, each standing for its median, so that a rare hiccup is no warm-up. Nothing where that
/// half's end is still the best (not steady yet) or there are fewer than ten samples.
[[nodiscard]] std::optional<std::size_t> warm_up(std::span<const double> samples);

struct StoppingRule {
  std::size_t least_samples = 20;
  std::size_t most_samples = 10'000;
  double relative_width = 0.02;  ///< of the median's interval, both sides together
  double confidence = 0.95;
  double seconds = 10;
};
enum class Stopped : std::uint8_t { narrow, time, samples };
[[nodiscard]] std::string_view name(Stopped reason);
/// Why to stop now; nothing: go on. The time limit counts even before the least number of samples is there.
[[nodiscard]] std::optional<Stopped> stop(std::span<const double> samples, double elapsed_seconds,
                                          const StoppingRule& rule);
/// How many samples there should be before the rule is asked again: 5 % more. Looking after every one would
/// cost as much as it measures, and every look is one more chance to stop by luck.
[[nodiscard]] std::size_t next_look(std::size_t samples);

}  // namespace plimsoll
