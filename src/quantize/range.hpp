#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "quantize/levels.hpp"

namespace plimsoll::quantize {

/// What a tensor held on the examples of a calibration: counts in bins of one width from low to high.
struct Histogram {
  double low = 0, high = 0;
  std::vector<double> counts;
  friend bool operator==(const Histogram&, const Histogram&) = default;
};

/// How the range that levels stand for is chosen. What lies beyond is cut off.
enum class RangeRule : std::uint8_t {
  largest,     ///< all that was seen
  percentile,  ///< all but the outermost 0.01 % at each end
  entropy,     ///< that of which 256 levels tell most: least Kullback-Leibler divergence
};
[[nodiscard]] std::string_view name(RangeRule rule);
[[nodiscard]] std::optional<RangeRule> rule_named(std::string_view name);

[[nodiscard]] Range range_of(const Histogram& histogram, RangeRule rule);

/// Kullback-Leibler divergence between what was seen, cut off beyond `range`, and the same in 256 levels.
[[nodiscard]] double divergence(const Histogram& histogram, Range range);

}  // namespace plimsoll::quantize
