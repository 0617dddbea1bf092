#include "learn/spread.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace plimsoll::learn {
namespace {

TEST(Wilson, IsNewcombesExample) {
  // 81 of 263: 0.2553 to 0.3662 (Newcombe, Stat. Med. 17, 1998, table I).
  const Interval share = wilson(81, 263, 0.95);
  EXPECT_NEAR(*share.low, 0.2553, 5e-5);
  EXPECT_NEAR(*share.high, 0.3662, 5e-5);
}

TEST(Wilson, HasAWidthAtTheEdges) {
  EXPECT_EQ(*wilson(0, 10, 0.95).low, 0);
  EXPECT_GT(*wilson(0, 10, 0.95).high, 0.2);
  EXPECT_LT(*wilson(10, 10, 0.95).low, 0.8);
}

TEST(OlympicMean, DropsBothEndsAndTakesUnreachedForTheSlowest) {
  const std::vector<Observation> times = {{1, true}, {2, true}, {3, true}, {100, true}};
  EXPECT_EQ(olympic_mean(times, 1), 2.5);
  EXPECT_EQ(olympic_mean({{1, true}, {2, true}, {3, true}, {2, false}}, 1), 2.5);
  EXPECT_EQ(olympic_mean({{1, true}, {2, true}, {3, false}, {2, false}}, 1), std::nullopt);
  EXPECT_EQ(olympic_mean({{1, true}, {2, true}}, 1), std::nullopt);
}

TEST(Variation, NeedsTwoAndAPositiveMean) {
  EXPECT_EQ(variation(std::vector{1.0}), std::nullopt);
  EXPECT_EQ(variation(std::vector{0.0, 0.0}), std::nullopt);
  EXPECT_EQ(variation(std::vector{5.0, 5.0}), 0.0);
}

TEST(Bootstrap, IsTheSameForTheSameDataAndHoldsTheValue) {
  const std::vector<double> times = {10, 11, 12, 13, 15, 20};
  const Interval once = bootstrap(times, mean, {});
  EXPECT_EQ(once, bootstrap(times, mean, {}));
  EXPECT_LT(*once.low, once.value);
  EXPECT_GT(*once.high, once.value);
  EXPECT_FALSE(bootstrap(std::vector{1.0, 2.0}, mean, {}).low);
  EXPECT_EQ(bootstrap(std::vector{7.0, 7.0, 7.0}, mean, {}), (Interval{7, 7, 7}));
}

TEST(RunsNeeded, AreThePublishedOnes) {
  // For 80 % power at a variation of 5 %.
  EXPECT_EQ(runs_needed(0.05, 0.02), 104U);
  EXPECT_EQ(runs_needed(0.05, 0.05), 18U);
  EXPECT_EQ(runs_needed(0.05, 0.10), 6U);
  EXPECT_EQ(runs_needed(0, 0.10), kFewestRuns);
  EXPECT_EQ(runs_needed(0.05, 0), std::nullopt);
}

TEST(ReferencePoint, HasNoTestOfOneRunASide) {
  const auto point = reference_point(std::vector{1.0, 1.1, 1.2}, 1, 3);
  ASSERT_TRUE(point);
  EXPECT_EQ(point->most_speed_up, 1);
  EXPECT_FALSE(reference_point(std::vector{1.0, 1.1}, 1, 3));
}

}  // namespace
}  // namespace plimsoll::learn
