#include "learn/forecast.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "learn/run_target.hpp"

namespace plimsoll::learn {
namespace {

const Target kTarget{"accuracy", Direction::at_least, 0.9};

std::vector<Evaluation> growing(double seconds, double sign = 1) {
  std::vector<Evaluation> out;
  for (int i = 1; i <= 50; ++i)
    out.push_back({seconds * i / 50, sign * 0.3 * std::pow(seconds * i / 50, 0.25)});
  return out;
}

TEST(Forecast, ContinuesWhatGrowsWithTheFourthRootOfTime) {
  const auto expected = forecast(growing(40), kTarget);
  ASSERT_TRUE(expected);
  EXPECT_NEAR(expected->continued, std::pow(0.9 / 0.3, 4), 1e-6);
  EXPECT_LT(expected->low, expected->value);
  EXPECT_LT(expected->value, expected->high);
  EXPECT_GE(expected->low, 40);
}

TEST(Forecast, IsTheSameOfWhatFalls) {
  const Target falling{"loss", Direction::at_most, -0.9};
  EXPECT_EQ(forecast(growing(40), kTarget), forecast(growing(40, -1), falling));
}

TEST(Forecast, NoiseMakesItWider) {
  const auto alone = forecast(growing(40), kTarget);
  std::vector<Evaluation> noisy = growing(40);
  for (std::size_t i = 1; i < noisy.size(); i += 2)
    noisy[i].value -= 0.1;  // the best values stay nearly as they were
  const auto wider = forecast(noisy, kTarget);
  ASSERT_TRUE(alone && wider);
  EXPECT_NEAR(wider->continued, alone->continued, 0.1 * alone->continued);
  EXPECT_GT(wider->offset, alone->offset + 0.05);
  EXPECT_GT(wider->high / wider->low, alone->high / alone->low);
}

TEST(Forecast, SaysNothingWhereItCannot) {
  EXPECT_FALSE(forecast({}, kTarget));
  EXPECT_FALSE(forecast({{0, 0.1}}, kTarget));
  EXPECT_FALSE(forecast(growing(200), kTarget));  // reached
  EXPECT_FALSE(forecast(std::vector<Evaluation>(30, {5, 0.3}), kTarget));
  EXPECT_FALSE(forecast(std::vector<Evaluation>(30, {5, std::nan("")}), kTarget));
  std::vector<Evaluation> level;
  for (int i = 1; i <= 30; ++i) level.push_back({static_cast<double>(i), 0.5});
  EXPECT_FALSE(forecast(level, kTarget));
}

TEST(RunTarget, IsToldByWhatIsKnown) {
  EXPECT_EQ(run_target_text(run_target(kTarget, {{1, 0.5}, {12.3, 0.95}}, 20, false)),
            "accuracy >= 0.9 after 12.3 s");
  EXPECT_EQ(run_target_text(run_target(kTarget, {{1, 0.5}}, 20, false)),
            "accuracy >= 0.9 not reached in 20 s");
  EXPECT_EQ(run_target_text(run_target(kTarget, {{1, 0.5}}, 20, true)),
            "accuracy >= 0.9 not reached yet; when it will be cannot be told");
  EXPECT_NE(run_target_text(run_target(kTarget, growing(40), 40, true)).find("expected after"),
            std::string::npos);
}

}  // namespace
}  // namespace plimsoll::learn
