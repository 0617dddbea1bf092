#include "store/sampling.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace plimsoll::store {

bool steps_before(const Point& a, const Point& b) {
  // A NaN compares with nothing.
  const auto rank = [](const Point& p) {
    const bool nan = std::isnan(p.value);
    return std::tuple(p.step, p.time, nan, nan ? 0.0 : p.value);
  };
  return rank(a) < rank(b);
}

std::vector<Point> sampled(std::vector<Point> points, std::size_t most) {
  if (!std::ranges::is_sorted(points, steps_before)) std::ranges::sort(points, steps_before);
  if (points.size() <= most || most == 0) return points;
  if (most == 1) return {points.back()};
  // The first of each of `most` tiles, the larger tiles first, as SQL's NTILE cuts them.
  const std::size_t size = points.size() / most, larger = points.size() % most;
  std::vector<Point> out;
  out.reserve(most);
  for (std::size_t tile = 0; tile < most; ++tile) out.push_back(points[tile * size + std::min(tile, larger)]);
  out.back() = points.back();
  return out;
}

}  // namespace plimsoll::store
