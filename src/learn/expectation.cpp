#include "learn/expectation.hpp"

#include <cmath>

#include "learn/distributions.hpp"
#include "learn/spread.hpp"

namespace plimsoll::learn {
namespace {

/// How far an end is from the value, in the logarithm; an absent one is no further than the value.
double reach(const Interval& interval, const std::optional<double>& end) {
  return end && *end > 0 ? std::log(*end / interval.value) : 0;
}

}  // namespace

Interval product(const Interval& one, const Interval& other) {
  const double value = one.value * other.value;
  Interval out{value};
  if (!one.low && !one.high && !other.low && !other.high) return out;
  out.low = value * std::exp(-std::hypot(reach(one, one.low), reach(other, other.low)));
  out.high = value * std::exp(std::hypot(reach(one, one.high), reach(other, other.high)));
  return out;
}

Interval at_level(const Interval& interval, double from, double to) {
  const double share = normal_quantile((1 + to) / 2) / normal_quantile((1 + from) / 2);
  const auto moved = [&](const std::optional<double>& end) {
    return end ? std::optional(interval.value * std::exp(share * reach(interval, end))) : end;
  };
  return {interval.value, moved(interval.low), moved(interval.high)};
}

Interval expected_time(const Interval& steps, const Interval& step) {
  return product(steps, at_level(step, kStepConfidence, kNextConfidence));
}

}  // namespace plimsoll::learn
