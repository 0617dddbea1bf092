#pragma once
#include "learn/observation.hpp"

namespace plimsoll::learn {

/// The product of two positive figures that know nothing of each other, both with intervals of one level:
/// errors are of the logarithms, and add as squares, each side by itself. A figure without ends adds nothing.
[[nodiscard]] Interval product(const Interval& one, const Interval& other);

/// The same figure at another level, as if its logarithm were normal on either side.
[[nodiscard]] Interval at_level(const Interval& interval, double from, double to);

/// Steps to a target times the time of one: `steps` at kNextConfidence, as is the result; `step` at
/// kStepConfidence, as estimates of time are.
[[nodiscard]] Interval expected_time(const Interval& steps, const Interval& step);
inline constexpr double kStepConfidence = 0.95;

}  // namespace plimsoll::learn
