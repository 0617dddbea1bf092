#include "quantize/range.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace plimsoll::quantize {
namespace {

constexpr double kOuterShare = 1e-4;
constexpr std::size_t kLevels = 256;
constexpr int kCandidates = 96;         // thresholds that entropy tries
constexpr double kSmallestShare = 0.2;  // of the largest number that was seen

constexpr std::array<std::pair<std::string_view, RangeRule>, 3> kRules = {
    {{"largest", RangeRule::largest},
     {"percentile", RangeRule::percentile},
     {"entropy", RangeRule::entropy}}};

double width_of(const Histogram& h) {
  return (h.high - h.low) / static_cast<double>(h.counts.size());
}

Range without_outermost(const Histogram& h, double share) {
  double sum = 0;
  for (const double count : h.counts) sum += count;
  const double most = sum * share;
  std::size_t first = 0, last = h.counts.size();
  for (double cut = 0; first < last && (cut += h.counts[first]) <= most;) ++first;
  for (double cut = 0; last > first && (cut += h.counts[last - 1]) <= most;) --last;
  if (first >= last) return {h.low, h.high};
  const double width = width_of(h);
  return {h.low + width * static_cast<double>(first),
          last == h.counts.size() ? h.high : h.low + width * static_cast<double>(last)};
}

Range cut_at(const Histogram& h, double threshold) {
  return {std::max(h.low, -threshold), std::min(h.high, threshold)};
}

Range of_least_divergence(const Histogram& h) {
  const double largest = std::max(std::abs(h.low), std::abs(h.high));
  Range best{h.low, h.high};
  double least = std::numeric_limits<double>::infinity();
  for (int i = kCandidates; i >= 1; --i) {
    const double share = kSmallestShare + (1 - kSmallestShare) * i / kCandidates;
    const Range candidate = cut_at(h, largest * share);
    // Cutting off more must earn something.
    if (const double d = divergence(h, candidate); d < least * (1 - 1e-9)) {
      least = d;
      best = candidate;
    }
  }
  return best;
}

}  // namespace

std::string_view name(RangeRule rule) {
  for (const auto& [text, value] : kRules)
    if (value == rule) return text;
  return "";
}

std::optional<RangeRule> rule_named(std::string_view name) {
  for (const auto& [text, value] : kRules)
    if (text == name) return value;
  return std::nullopt;
}

double divergence(const Histogram& h, Range range) {
  const std::size_t bins = h.counts.size();
  const double width = width_of(h);
  if (bins == 0 || !(width > 0) || !(range.high > range.low)) return 0;
  const auto bin_of = [&](double x) {
    const double bin = std::round((x - h.low) / width);
    return static_cast<std::size_t>(std::clamp(bin, 0.0, static_cast<double>(bins)));
  };
  const std::size_t first = bin_of(range.low), last = std::max(first + 1, bin_of(range.high));
  if (last > bins) return 0;
  // What is cut off stands at the ends; the levels are made of what lies between alone.
  std::vector<double> seen(h.counts.begin() + static_cast<std::ptrdiff_t>(first),
                           h.counts.begin() + static_cast<std::ptrdiff_t>(last));
  const std::vector<double> between = seen;
  for (std::size_t i = 0; i < first; ++i) seen.front() += h.counts[i];
  for (std::size_t i = last; i < bins; ++i) seen.back() += h.counts[i];
  std::vector<double> told(seen.size(), 0);
  for (std::size_t level = 0; level < kLevels; ++level) {
    const std::size_t begin = level * seen.size() / kLevels, end = (level + 1) * seen.size() / kLevels;
    double sum = 0;
    std::size_t filled = 0;
    for (std::size_t i = begin; i < end; ++i) {
      sum += between[i];
      filled += seen[i] > 0 ? 1 : 0;
    }
    for (std::size_t i = begin; i < end && filled > 0; ++i)
      if (seen[i] > 0) told[i] = sum / static_cast<double>(filled);
  }
  double seen_sum = 0, told_sum = 0, out = 0;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    seen_sum += seen[i];
    told_sum += told[i];
  }
  if (!(seen_sum > 0) || !(told_sum > 0)) return std::numeric_limits<double>::infinity();
  constexpr double kLeast = 1e-12;  // of what was seen where the levels say that nothing was
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const double p = seen[i] / seen_sum;
    if (p > 0) out += p * std::log(p / std::max(kLeast, told[i] / told_sum));
  }
  return out;
}

Range range_of(const Histogram& histogram, RangeRule rule) {
  if (histogram.counts.empty() || !(histogram.high > histogram.low)) return {histogram.low, histogram.high};
  switch (rule) {
    case RangeRule::percentile: return without_outermost(histogram, kOuterShare);
    case RangeRule::entropy: return of_least_divergence(histogram);
    case RangeRule::largest: break;
  }
  return {histogram.low, histogram.high};
}

}  // namespace plimsoll::quantize
