#include "learn/spread.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <random>

#include "learn/distributions.hpp"

namespace plimsoll::learn {
namespace {

/// A place below `count`, by the upper bits of a product: even enough (2^-64 × count off), and equal on every
/// machine, which std::uniform_int_distribution does not promise.
std::size_t place_below(std::mt19937_64& generator, std::size_t count) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::size_t>((static_cast<Wide>(generator()) * count) >> 64U);
}

double population_deviation(std::span<const double> values) {
  const double middle = mean(values);
  double squares = 0;
  for (const double value : values) squares += (value - middle) * (value - middle);
  return std::sqrt(squares / static_cast<double>(values.size()));
}

/// How fast the statistic's error changes, from leaving out one value at a time.
double acceleration(std::span<const double> values, const Statistic& statistic) {
  std::vector<double> left, without;
  for (std::size_t i = 0; i < values.size(); ++i) {
    without.assign(values.begin(), values.end());
    without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
    left.push_back(statistic(without));
  }
  const double middle = mean(left);
  double squares = 0, cubes = 0;
  for (const double one : left) {
    const double away = middle - one;
    squares += away * away;
    cubes += away * away * away;
  }
  return squares > 0 ? cubes / (6 * std::pow(squares, 1.5)) : 0;
}

/// Between neighbours in proportion, as NumPy's default.
double quantile(std::span<const double> sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  if (below + 1 >= sorted.size()) return sorted.back();
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[below + 1] - sorted[below]);
}

}  // namespace

std::vector<double> times_reached(const std::vector<Observation>& observations) {
  std::vector<double> out;
  for (const Observation& one : observations)
    if (one.reached) out.push_back(one.time);
  std::ranges::sort(out);
  return out;
}

Interval wilson(std::size_t successes, std::size_t of, double confidence) {
  const auto n = static_cast<double>(of);
  const double share = static_cast<double>(successes) / n;
  const double z = normal_quantile(1 - (1 - confidence) / 2), z2 = z * z;
  const double middle = share + z2 / (2 * n);
  const double half = z * std::sqrt(share * (1 - share) / n + z2 / (4 * n * n));
  const double below = 1 + z2 / n;
  return {share, std::max(0.0, (middle - half) / below), std::min(1.0, (middle + half) / below)};
}

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::optional<double> deviation(std::span<const double> values) {
  if (values.size() < 2) return std::nullopt;
  const auto n = static_cast<double>(values.size());
  return population_deviation(values) * std::sqrt(n / (n - 1));
}

std::optional<double> variation(std::span<const double> values) {
  const std::optional<double> spread = deviation(values);
  if (!spread) return std::nullopt;
  const double middle = mean(values);
  if (!(middle > 0)) return std::nullopt;
  return *spread / middle;
}

std::optional<double> olympic_mean(const std::vector<Observation>& observations, std::size_t dropped) {
  const std::vector<double> reached = times_reached(observations);
  if (observations.size() <= 2 * dropped || reached.size() + dropped < observations.size())
    return std::nullopt;
  const std::size_t kept = observations.size() - 2 * dropped;
  return mean(std::span(reached).subspan(dropped, kept));
}

std::optional<Interval> next_value(std::span<const double> values) {
  constexpr std::size_t kFewest = 3;
  if (values.size() < kFewest || std::ranges::min(values) <= 0) return std::nullopt;
  std::vector<double> logs;
  for (const double value : values) logs.push_back(std::log(value));
  const auto n = static_cast<double>(logs.size());
  const double middle = mean(logs);
  const double half = student_quantile(n - 1, 1 - (1 - kNextConfidence) / 2) * deviation(logs).value_or(0) *
                      std::sqrt(1 + 1 / n);
  return Interval{std::exp(middle), std::exp(middle - half), std::exp(middle + half)};
}

Interval bootstrap(std::span<const double> values, const Statistic& statistic, const Resampling& resampling) {
  Interval out{statistic(values)};
  constexpr std::size_t kFewest = 3;
  if (values.size() < kFewest || !std::isfinite(out.value)) return out;
  std::mt19937_64 generator(resampling.seed);
  std::vector<double> drawn(values.size()), found;
  for (std::size_t time = 0; time < resampling.times; ++time) {
    for (double& one : drawn) one = values[place_below(generator, values.size())];
    found.push_back(statistic(drawn));
    if (!std::isfinite(found.back())) return out;
  }
  std::ranges::sort(found);
  if (found.front() == found.back()) return {out.value, found.front(), found.back()};
  // Equal but for rounding, which is another in every order of the same values.
  const double rounding = 1e-12 * std::abs(out.value);
  const auto below = std::ranges::lower_bound(found, out.value - rounding) - found.begin();
  const auto at_most = std::ranges::upper_bound(found, out.value + rounding) - found.begin();
  const auto count = static_cast<double>(found.size());
  // Half of those that equal it lie below. No bias is infinite: at least half a resample is on either side.
  const double share =
      std::clamp(static_cast<double>(below + at_most) / (2 * count), 0.5 / count, 1 - 0.5 / count);
  const double bias = normal_quantile(share), speed = acceleration(values, statistic);
  const auto end = [&](double tail) {
    const double z = bias + normal_quantile(tail);
    return quantile(found, normal_share_below(bias + z / (1 - speed * z)));
  };
  const double tail = (1 - resampling.confidence) / 2;
  return {out.value, end(tail), end(1 - tail)};
}

std::optional<ReferencePoint> reference_point(std::span<const double> values, std::size_t dropped,
                                              std::size_t submitted) {
  constexpr double kLevel = 0.05;
  if (values.size() <= 2 * dropped || submitted <= 2) return std::nullopt;
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  const std::size_t kept = sorted.size() - 2 * dropped;
  ReferencePoint out{.mean = mean(std::span(sorted).subspan(dropped, kept)),
                     .deviation = population_deviation(sorted)};
  const double own = static_cast<double>(kept), theirs = static_cast<double>(submitted - 2);
  if (!(out.mean > 0)) return std::nullopt;
  // One run a side has no test, and none faster is taken.
  const double degrees = own + theirs - 2;
  const double reach =
      degrees > 0 ? student_quantile(degrees, 1 - kLevel) * out.deviation * std::sqrt(1 / own + 1 / theirs)
                  : 0;
  if (reach < out.mean) {
    out.least_mean = out.mean - reach;
    out.most_speed_up = out.mean / out.least_mean;
  }
  return out;
}

std::optional<std::size_t> runs_needed(double variation, double difference) {
  if (!(variation >= 0) || !(difference > 0)) return std::nullopt;
  constexpr double kLevel = 0.05, kPower = 0.8, kMost = 1e9;
  const double level = normal_quantile(1 - kLevel / 2), power = normal_quantile(kPower);
  const double normal = 2 * std::pow((level + power) * variation / difference, 2) + level * level / 4;
  const double needed = std::ceil(normal * std::numbers::pi / 3);
  if (!(needed <= kMost)) return std::nullopt;
  return std::max(kFewestRuns, static_cast<std::size_t>(needed));
}

}  // namespace plimsoll::learn
