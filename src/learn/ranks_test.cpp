#include "learn/ranks.hpp"

#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace plimsoll::learn {
namespace {

TEST(MannWhitney, ThreeASideCanNeverTell) {
  const auto apart = mann_whitney(std::vector{1.0, 2.0, 3.0}, std::vector{7.0, 8.0, 9.0});
  EXPECT_TRUE(apart->exact);
  EXPECT_DOUBLE_EQ(apart->p, 0.1);
  EXPECT_DOUBLE_EQ(least_p(3, 3), 0.1);
  EXPECT_NEAR(least_p(4, 4), 0.029, 5e-4);
  EXPECT_EQ(least_p(1, 1), 1);
}

TEST(MannWhitney, UnreachedAreTiesOfEachOther) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const auto half = mann_whitney(std::vector{1.0, kNever}, std::vector{2.0, kNever});
  EXPECT_FALSE(half->exact);
  EXPECT_DOUBLE_EQ(half->statistic, 1.5);
}

TEST(HodgesLehmann, IsTheMiddleQuotient) {
  const std::vector<double> slow = {20, 22, 24, 26}, quick = {10, 11, 12, 13};
  const auto ratio = hodges_lehmann_ratio(slow, quick, 0.95);
  EXPECT_DOUBLE_EQ(ratio->value, 2);
  EXPECT_DOUBLE_EQ(*ratio->low, 20.0 / 13);
  EXPECT_DOUBLE_EQ(*ratio->high, 2.6);
  EXPECT_FALSE(hodges_lehmann_ratio(std::vector{1.0, 2.0}, std::vector{3.0, 4.0}, 0.95)->low);
  EXPECT_FALSE(hodges_lehmann_ratio(std::vector{0.0}, std::vector{3.0}, 0.95));
}

}  // namespace
}  // namespace plimsoll::learn
