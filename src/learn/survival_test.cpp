#include "learn/survival.hpp"

#include <gtest/gtest.h>

namespace plimsoll::learn {
namespace {

const std::vector<Observation> kMixed = {{1, true}, {2, false}, {3, true}, {4, false}};

TEST(Survival, CensoredRunsCountUntilTheyEnd) {
  const std::vector<SurvivalStep> curve = survival_curve(kMixed, 0.95);
  ASSERT_EQ(curve.size(), 4U);
  EXPECT_DOUBLE_EQ(curve[0].share, 0.75);
  EXPECT_DOUBLE_EQ(curve[2].share, 0.375);  // one of two that were left
  EXPECT_EQ(curve[3].left, 1U);
}

TEST(Survival, MedianIsUnknownWhereMostNeverReachedIt) {
  EXPECT_EQ(median_time(survival_curve(kMixed, 0.95))->value, 3);
  EXPECT_FALSE(median_time(survival_curve({{1, true}, {5, false}, {5, false}}, 0.95)));
}

TEST(Survival, RestrictedMeanIsTheAreaUpToItsHorizon) {
  const std::vector<SurvivalStep> curve = survival_curve(kMixed, 0.95);
  EXPECT_DOUBLE_EQ(restricted_mean(curve, 4, 0.95)->value, 1 + 2 * 0.75 + 0.375);
  EXPECT_DOUBLE_EQ(restricted_mean(curve, 2, 0.95)->value, 1.75);
  EXPECT_FALSE(restricted_mean({}, 2, 0.95));
}

TEST(LogRank, IsNoEvidenceWhereNothingTellsThemApart) {
  EXPECT_EQ(log_rank({{1, false}}, {{2, false}}).p, 1);
  EXPECT_EQ(log_rank(kMixed, kMixed).statistic, 0);
}

}  // namespace
}  // namespace plimsoll::learn
