#pragma once
#include <optional>
#include <vector>

namespace plimsoll::learn {

/// One training's time to its target. Where it was not reached, the time is how long one looked: the time to
/// the target is longer, and nobody knows by how much (it is censored).
struct Observation {
  double time = 0;  ///< not negative; seconds, or whatever the clock counts
  bool reached = true;
  friend bool operator==(const Observation&, const Observation&) = default;
};

/// A value and its interval; an end that the data cannot give is absent.
struct Interval {
  double value = 0;
  std::optional<double> low = {}, high = {};
  friend bool operator==(const Interval&, const Interval&) = default;
};

/// The sorted times of those that reached it.
[[nodiscard]] std::vector<double> times_reached(const std::vector<Observation>& observations);

}  // namespace plimsoll::learn
