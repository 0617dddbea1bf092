#include "learn/paired_loss.hpp"

#include <algorithm>
#include <cmath>

namespace plimsoll::learn {
namespace {

constexpr double kTwoSided = 1.959963984540054, kOneSided = 1.6448536269514722;  // of the normal distribution

}  // namespace

Share share_of(std::int64_t right, std::int64_t examples) {
  Share out{.right = right, .examples = examples, .low = 0, .high = 1};
  if (examples == 0) return out;
  const auto n = static_cast<double>(examples);
  const double p = out.value(), z2 = kTwoSided * kTwoSided;
  const double middle = (p + z2 / (2 * n)) / (1 + z2 / n);
  const double half = kTwoSided / (1 + z2 / n) * std::sqrt(p * (1 - p) / n + z2 / (4 * n * n));
  out.low = std::max(0.0, middle - half);
  out.high = std::min(1.0, middle + half);
  return out;
}

PairedLoss paired_loss(std::span<const std::int64_t> first, std::span<const std::int64_t> second,
                       std::span<const std::int64_t> labels, std::span<const std::int64_t> places) {
  PairedLoss out;
  for (const std::int64_t place : places) {
    const auto i = static_cast<std::size_t>(place);
    if (i >= first.size() || i >= second.size() || i >= labels.size()) continue;
    ++out.examples;
    const bool before = first[i] == labels[i], after = second[i] == labels[i];
    out.lost += before && !after ? 1 : 0;
    out.won += after && !before ? 1 : 0;
  }
  if (out.examples == 0) return out;
  const auto lost = static_cast<double>(out.lost), won = static_cast<double>(out.won);
  out.value = (lost - won) / static_cast<double>(out.examples);
  const double n = static_cast<double>(out.examples) + 2, b = lost + 0.5, c = won + 0.5;
  const double middle = (b - c) / n, deviation = std::sqrt(b + c - (b - c) * (b - c) / n) / n;
  out.low = middle - kTwoSided * deviation;
  out.high = middle + kTwoSided * deviation;
  out.most = middle + kOneSided * deviation;
  return out;
}

std::size_t fewest_kept(std::size_t count, const std::function<bool(std::size_t)>& holds) {
  if (count == 0 || holds(0)) return 0;
  std::size_t low = 0, high = count;  // low is known not to hold, high to hold
  while (high - low > 1) {
    const std::size_t middle = low + (high - low) / 2;
    (holds(middle) ? high : low) = middle;
  }
  return high;
}

std::vector<bool> front_of(std::span<const Point> points) {
  const auto beats = [](const Point& a, const Point& b) {
    return a.cost <= b.cost && a.accuracy >= b.accuracy && (a.cost < b.cost || a.accuracy > b.accuracy);
  };
  std::vector<bool> out;
  for (const Point& point : points)
    out.push_back(!std::isnan(point.cost) && !std::isnan(point.accuracy) &&
                  std::ranges::none_of(points, [&](const Point& other) { return beats(other, point); }));
  return out;
}

}  // namespace plimsoll::learn
