#include "learn/forecast.hpp"

#include <algorithm>
#include <cmath>

namespace plimsoll::learn {
namespace {

constexpr double kFrom = 0.25;       ///< of the time so far: what is earlier is another phase
constexpr std::size_t kFewest = 10;  ///< evaluations since then
constexpr double kFarthest = 1000;   ///< times the time so far: beyond it nothing is said
constexpr double kPower = 0.25;      ///< of the time, with which the best value grows

/// How the logarithm of reached over elapsed time, u, relates to that of the continued curve: (u + offset)
/// over (continued u + offset) lies in the median, and in four cases of five, at these. The offset is what
/// chance does to an evaluation that is nearly there: more where evaluations scatter more than they grow.
/// Printed by bench/tta_backtest.py, and held against it by a test.
constexpr double kOffset = 0.2, kOffsetOfNoise = 0.25;
constexpr double kLow = 0.985, kMiddle = 1.293, kHigh = 1.818;

/// How a curve goes lately: per unit of log time at its end.
struct Trend {
  double pace = 0;   ///< of the best value so far
  double noise = 0;  ///< deviation of a single value
};

/// By least squares over what the power makes of time; nothing where it did not grow.
std::optional<Trend> trend(const std::vector<Evaluation>& values, const std::vector<Evaluation>& best,
                           double now) {
  const auto x_of = [now](double at) { return (std::pow(at / now, kPower) - 1) / kPower; };
  const auto first =
      std::ranges::find_if(best, [&](const Evaluation& one) { return one.at >= kFrom * now; }) - best.begin();
  const auto from = static_cast<std::size_t>(first);
  if (best.size() < from + kFewest) return std::nullopt;
  const auto count = static_cast<double>(best.size() - from);
  double x_mean = 0, y_mean = 0, squares = 0, products = 0, jumps = 0;
  for (std::size_t i = from; i < best.size(); ++i) {
    x_mean += x_of(best[i].at) / count;
    y_mean += best[i].value / count;
  }
  for (std::size_t i = from; i < best.size(); ++i) {
    const double x = x_of(best[i].at) - x_mean;
    squares += x * x;
    products += x * (best[i].value - y_mean);
    // Neighbours have grown alike: what differs is twice the noise.
    if (i > from) jumps += std::pow(values[i].value - values[i - 1].value, 2) / 2;
  }
  if (!(squares > 0) || !(products > 0)) return std::nullopt;
  return Trend{products / squares, std::sqrt(jumps / (count - 1))};
}

}  // namespace

std::optional<Forecast> forecast(const std::vector<Evaluation>& curve, const Target& target) {
  const double sign = target.direction == Direction::at_least ? 1 : -1;
  std::vector<Evaluation> values, best;
  for (const Evaluation& one : curve) {
    if (!std::isfinite(one.value)) continue;
    values.push_back({one.at, sign * one.value});
    best.push_back(
        {one.at, best.empty() ? values.back().value : std::max(best.back().value, values.back().value)});
  }
  if (best.empty() || !(best.back().at > 0)) return std::nullopt;
  const double now = best.back().at, gap = sign * target.value - best.back().value;
  const std::optional<Trend> lately = trend(values, best, now);
  if (!lately || !(gap > 0)) return std::nullopt;
  const double continued = std::log1p(kPower * gap / lately->pace) / kPower;
  const double offset = kOffset + kOffsetOfNoise * lately->noise / lately->pace;
  // Where nothing but noise is left of the growth, nothing can be said.
  if (!(continued < std::log(kFarthest)) || !(offset < std::log(kFarthest))) return std::nullopt;
  const auto moment = [&](double factor) {
    return now * std::exp(std::max(0.0, (continued + offset) * factor - offset));
  };
  return Forecast{moment(kMiddle), moment(kLow), moment(kHigh), now * std::exp(continued), offset};
}

}  // namespace plimsoll::learn
