#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "learn/observation.hpp"

namespace plimsoll::learn {

/// A share with Wilson's interval (J. Am. Stat. Assoc. 22, 1927), which stays between 0 and 1 and has a width
/// even where all or none succeeded. `of` is positive.
[[nodiscard]] Interval wilson(std::size_t successes, std::size_t of, double confidence);

[[nodiscard]] double mean(std::span<const double> values);  ///< of at least one
/// The sample's standard deviation (n - 1). Nothing of fewer than two.
[[nodiscard]] std::optional<double> deviation(std::span<const double> values);
/// The deviation over the mean; nothing where there is no deviation or the mean is not positive.
[[nodiscard]] std::optional<double> variation(std::span<const double> values);
/// The mean without the `dropped` smallest and as many largest, as MLPerf scores. Runs that never reached the
/// target are the largest; nothing where one would be left, or nothing at all.
[[nodiscard]] std::optional<double> olympic_mean(const std::vector<Observation>& observations,
                                                 std::size_t dropped);

/// Of one more run like these, between which it will be four times in five: Student's prediction interval of
/// the logarithms, since times cannot be negative and are skewed. Nothing of fewer than three, or where one
/// is zero.
[[nodiscard]] std::optional<Interval> next_value(std::span<const double> values);
inline constexpr double kNextConfidence = 0.8;

struct Resampling {
  std::size_t times = 2000;
  std::uint64_t seed = 1;
  double confidence = 0.95;
};
using Statistic = std::function<double(std::span<const double>)>;
/// The bias-corrected and accelerated bootstrap (Efron, J. Am. Stat. Assoc. 82, 1987) of a statistic of
/// independent values. The seed is given, so that equal data have equal intervals. Without ends where there
/// are fewer than three values or the statistic is not a finite number of some resample.
[[nodiscard]] Interval bootstrap(std::span<const double> values, const Statistic& statistic,
                                 const Resampling& resampling);

/// What MLPerf takes from a reference's runs, so that submissions can be held against it.
struct ReferencePoint {
  double mean = 0;        ///< olympic
  double deviation = 0;   ///< of all, none dropped, over n
  double least_mean = 0;  ///< a smaller mean of a submission's runs is too good to be the same training
  /// mean / least_mean; nothing where the runs are so far apart that no mean is too good.
  std::optional<double> most_speed_up = {};
};
/// A one-sided t-test at 0.05 of a submission's `submitted` runs, of which one is dropped at each end, with
/// the deviation of the reference. Nothing where too few are left.
[[nodiscard]] std::optional<ReferencePoint> reference_point(std::span<const double> values,
                                                            std::size_t dropped, std::size_t submitted);

/// Runs for each of two set-ups so that a difference of that share is found with 80 % power in a two-sided
/// Mann-Whitney test at 0.05: the normal theory's number with Guenther's correction (Am. Stat. 35, 1981),
/// over that test's efficiency for normal data, 3/pi. At least four: with three a side no outcome has p <
/// 0.05.
[[nodiscard]] std::optional<std::size_t> runs_needed(double variation, double difference);

/// Fewer a side can give no two-sided p < 0.05.
inline constexpr std::size_t kFewestRuns = 4;

}  // namespace plimsoll::learn
