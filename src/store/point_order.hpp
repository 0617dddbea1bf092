#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "store/run.hpp"

namespace plimsoll::store {

/// Of two points of a metric the one that counts as its latest, by MLflow's rule: of the larger step, then
/// the later time, then the larger value.
[[nodiscard]] const Point& later(const Point& a, const Point& b);
/// The latest of `first` and all of `points`.
[[nodiscard]] Point latest_of(Point first, std::span<const Point> points);

/// Whether two points are one that was sent twice: equal in time, step and the bits of the value; all NaNs
/// are equal.
[[nodiscard]] bool same(const Point& a, const Point& b);

/// The order of pages: time, then step, then value, a NaN last.
[[nodiscard]] bool comes_before(const Point& a, const Point& b);

/// Brings points into the order of time, those of one time staying in the order of their coming, and drops
/// those that are there already. Returns how many were dropped.
std::size_t put_in_order(std::vector<Point>& points);

}  // namespace plimsoll::store
