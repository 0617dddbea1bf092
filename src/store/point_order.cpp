#include "store/point_order.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <compare>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

namespace plimsoll::store {
namespace {

std::uint64_t value_bits(const Point& p) {
  return std::bit_cast<std::uint64_t>(std::isnan(p.value) ? std::numeric_limits<double>::quiet_NaN()
                                                          : p.value);
}

auto rank(const Point& p) {
  // A NaN compares with nothing.
  const bool nan = std::isnan(p.value);
  return std::tuple(p.time, p.step, nan, nan ? 0.0 : p.value, value_bits(p));
}

}  // namespace

const Point& later(const Point& a, const Point& b) {
  const auto rank = [](const Point& p) {
    // A NaN compares with nothing; here it ranks below every number.
    const bool number = !std::isnan(p.value);
    return std::tuple(p.step, p.time, number, number ? p.value : 0.0);
  };
  return rank(a) < rank(b) ? b : a;
}

Point latest_of(Point first, std::span<const Point> points) {
  for (const Point& p : points) first = later(first, p);
  return first;
}

bool same(const Point& a, const Point& b) {
  return a.time == b.time && a.step == b.step && value_bits(a) == value_bits(b);
}

bool comes_before(const Point& a, const Point& b) {
  return rank(a) < rank(b);
}

std::size_t put_in_order(std::vector<Point>& points) {
  if (!std::ranges::is_sorted(points, {}, &Point::time)) std::ranges::stable_sort(points, {}, &Point::time);
  constexpr std::size_t kFew = 8;  // compared one by one; a set for more
  std::size_t kept = 0;
  for (std::size_t i = 0; i < points.size();) {
    std::size_t end = i + 1;
    while (end < points.size() && points[end].time == points[i].time) ++end;
    if (end - i <= kFew) {
      const std::size_t begin = kept;
      for (; i < end; ++i) {
        const auto known = points.begin() + static_cast<std::ptrdiff_t>(kept);
        const auto found = std::find_if(points.begin() + static_cast<std::ptrdiff_t>(begin), known,
                                        [&](const Point& p) { return same(p, points[i]); });
        if (found == known) points[kept++] = points[i];
      }
    } else {
      std::set<std::pair<std::int64_t, std::uint64_t>> known;
      for (; i < end; ++i)
        if (known.emplace(points[i].step, value_bits(points[i])).second) points[kept++] = points[i];
    }
  }
  const std::size_t dropped = points.size() - kept;
  points.resize(kept);
  return dropped;
}

}  // namespace plimsoll::store
