#include "quantize/range.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace plimsoll::quantize {
namespace {

/// A bell of numbers around zero, in 2,000 bins from -10 to 10, and one number far out.
Histogram bell_and_outlier() {
  Histogram h{-10, 100, std::vector<double>(2200, 0)};
  for (int i = 0; i < 2000; ++i) {
    const double x = -10 + 0.05 * i;
    h.counts[static_cast<std::size_t>(i)] = std::floor(10'000 * std::exp(-x * x / 2));
  }
  h.counts.back() = 1;
  return h;
}

TEST(RangeRules, TheLargestIsAllThatWasSeen) {
  EXPECT_EQ(range_of(bell_and_outlier(), RangeRule::largest), (Range{-10, 100}));
}

TEST(RangeRules, APercentileLeavesTheOutermostOut) {
  const Histogram h = bell_and_outlier();
  const Range range = range_of(h, RangeRule::percentile);
  EXPECT_LT(range.high, 5);
  EXPECT_GT(range.high, 3);
  EXPECT_LT(range.low, -3);
  double inside = 0, all = 0;
  for (std::size_t i = 0; i < h.counts.size(); ++i) {
    const double x = -10 + 0.05 * (static_cast<double>(i) + 0.5);
    all += h.counts[i];
    if (x > range.low && x < range.high) inside += h.counts[i];
  }
  EXPECT_GE(inside / all, 1 - 2e-4);
}

TEST(RangeRules, EntropyCutsAnOutlierAndKeepsAFlatRange) {
  const Histogram h = bell_and_outlier();
  const Range cut = range_of(h, RangeRule::entropy);
  EXPECT_LT(cut.high, 50);
  EXPECT_LT(divergence(h, cut), divergence(h, {-10, 100}));
  const Histogram flat{0, 1, std::vector<double>(2048, 5)};
  EXPECT_EQ(range_of(flat, RangeRule::entropy), (Range{0, 1}));
}

TEST(RangeRules, OfNothing) {
  for (const RangeRule rule : {RangeRule::largest, RangeRule::percentile, RangeRule::entropy}) {
    EXPECT_EQ(range_of({0, 0, {}}, rule), (Range{0, 0}));
    EXPECT_EQ(range_of({2, 2, {3}}, rule), (Range{2, 2}));
    EXPECT_EQ(rule_named(name(rule)), rule);
  }
  EXPECT_FALSE(rule_named("best"));
  const Range empty = range_of({0, 1, std::vector<double>(10, 0)}, RangeRule::percentile);
  EXPECT_EQ(empty, (Range{0, 1}));
}

}  // namespace
}  // namespace plimsoll::quantize
