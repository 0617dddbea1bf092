#include "plan/cluster/gap_value.hpp"

#include <gtest/gtest.h>

namespace plimsoll::plan::cluster {
namespace {

TEST(GapValue, PricesOfOneSizeAreHowManyFit) {
  EXPECT_DOUBLE_EQ(cutting_prices({30}, {5}, 100)[0], 1.0 / 3);
}

TEST(GapValue, SizesThatCompleteEachOtherSharePrices) {
  // 60 and 40 in equal numbers fill bins: together they cost one.
  const auto prices = cutting_prices({40, 60}, {10, 10}, 100);
  EXPECT_NEAR(prices[0] + prices[1], 1, 1e-9);
  // Few small ones: they go beside large ones, of which each needs a bin, and cost nothing.
  const auto few = cutting_prices({10, 81}, {5, 100}, 100);
  EXPECT_NEAR(few[1], 1, 1e-9);
  EXPECT_NEAR(few[0], 0, 1e-9);
}

TEST(GapValue, PricesAreOfTheBestPlan) {
  // Worked out by hand: 50 of 50s and 30s: two 50s, or three 30s; a 50 with a 30 wastes 20.
  const auto prices = cutting_prices({30, 50}, {30, 30}, 100);
  EXPECT_NEAR(prices[1], 0.5, 1e-9);
  EXPECT_NEAR(prices[0], 1.0 / 3, 1e-9);
  // Whatever the prices, no filling is worth more than the bin, and all bins together are what is needed.
  const auto many = cutting_prices({5, 11, 14, 16, 22, 23, 27, 32, 35, 44, 47, 55, 65, 81, 100},
                                   {3, 6, 9, 15, 14, 33, 2, 80, 1, 9, 170, 14, 57, 240, 390}, 100);
  EXPECT_NEAR(best_fillings({5, 11, 14, 16, 22, 23, 27, 32, 35, 44, 47, 55, 65, 81, 100}, many, 100)[100], 1,
              1e-9);
}

TEST(GapValue, GapsAreWorthWhatFits) {
  Workload workload{
      .kinds = {{.gpus = 1, .milli = 810}, {.gpus = 1, .milli = 470}, {.gpus = 8, .milli = 1000}},
      .pods = {0, 0, 0, 1, 1, 2}};
  const GapValue value(workload);
  EXPECT_NEAR(value.of(1000), 1, 1e-9);
  EXPECT_NEAR(value.of(810), 1, 1e-9);
  EXPECT_NEAR(value.of(530), 0.5, 1e-9);
  EXPECT_EQ(value.of(190), 0);
  EXPECT_EQ(value.of(469), 0);
}

}  // namespace
}  // namespace plimsoll::plan::cluster
