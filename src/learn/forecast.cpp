#include "learn/forecast.hpp"

#include <algorithm>
#include <cmath>

namespace plimsoll::learn {
namespace {

constexpr double kFrom = 0.2;        ///< of the time so far: what is earlier is another phase
constexpr std::size_t kFewest = 10;  ///< evaluations since then
constexpr double kFarthest = 1000;   ///< times the time so far: beyond it nothing is said

/// How the logarithm of reached over elapsed time, u, relates to that of the continued curve: (u + kOffset)
/// over (continued u + kOffset) lies in the median, and in four cases of five, at these. The offset is what
/// chance does to an evaluation that is nearly there. Printed by bench/tta_backtest.py, and held against it
/// by a test.
constexpr double kOffset = 0.2;
constexpr double kLow = 1.101, kMiddle = 1.509, kHigh = 2.223;

/// The pace of `best` per unit of 2 (sqrt(time / now) - 1), by least squares; nothing where it did not grow.
std::optional<double> pace(const std::vector<Evaluation>& best, double now) {
  double count = 0, x_sum = 0, y_sum = 0;
  const auto x_of = [now](double at) { return 2 * (std::sqrt(at / now) - 1); };
  for (const Evaluation& one : best) {
    if (one.at < kFrom * now) continue;
    count += 1;
    x_sum += x_of(one.at);
    y_sum += one.value;
  }
  if (count < static_cast<double>(kFewest)) return std::nullopt;
  double squares = 0, products = 0;
  for (const Evaluation& one : best) {
    if (one.at < kFrom * now) continue;
    const double x = x_of(one.at) - x_sum / count;
    squares += x * x;
    products += x * (one.value - y_sum / count);
  }
  if (!(squares > 0) || !(products > 0)) return std::nullopt;
  return products / squares;
}

}  // namespace

std::optional<Forecast> forecast(const std::vector<Evaluation>& curve, const Target& target) {
  const double sign = target.direction == Direction::at_least ? 1 : -1;
  std::vector<Evaluation> best;
  for (const Evaluation& one : curve) {
    if (!std::isfinite(one.value)) continue;
    const double value = sign * one.value;
    best.push_back({one.at, best.empty() ? value : std::max(best.back().value, value)});
  }
  if (best.empty() || !(best.back().at > 0)) return std::nullopt;
  const double now = best.back().at, gap = sign * target.value - best.back().value;
  const std::optional<double> growth = pace(best, now);
  if (!growth || !(gap > 0)) return std::nullopt;
  const double continued = 2 * std::log1p(gap / *growth / 2);
  if (!(continued < std::log(kFarthest))) return std::nullopt;
  const auto moment = [&](double factor) {
    return now * std::exp(std::max(0.0, (continued + kOffset) * factor - kOffset));
  };
  return Forecast{moment(kMiddle), moment(kLow), moment(kHigh), now * std::exp(continued)};
}

}  // namespace plimsoll::learn
