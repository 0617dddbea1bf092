#include "job/learning.hpp"

#include <gtest/gtest.h>

namespace plimsoll::job {
namespace {

constexpr double kPeak = 0.4;

double rate(const Schedule& schedule, std::int64_t step) {
  return learning_rate_at(schedule, kPeak, step, 10, 100);
}

TEST(Schedule, StaysWhereNothingIsAsked) {
  EXPECT_EQ(rate({}, 0), kPeak);
  EXPECT_EQ(rate({}, 99), kPeak);
}

TEST(Schedule, WarmsUpInEqualSteps) {
  const Schedule schedule{.warm_up_epochs = 0.5};
  EXPECT_DOUBLE_EQ(rate(schedule, 0), kPeak / 5);
  EXPECT_DOUBLE_EQ(rate(schedule, 3), kPeak * 4 / 5);
  EXPECT_DOUBLE_EQ(rate(schedule, 4), kPeak);
  EXPECT_DOUBLE_EQ(rate(schedule, 5), kPeak);
}

TEST(Schedule, FallsStepByStep) {
  const Schedule schedule{.decline = Decline::step, .step_epochs = 3, .step_factor = 0.5};
  EXPECT_DOUBLE_EQ(rate(schedule, 29), kPeak);
  EXPECT_DOUBLE_EQ(rate(schedule, 30), kPeak / 2);
  EXPECT_DOUBLE_EQ(rate(schedule, 99), kPeak / 8);
}

// The numbers are those that torch.optim.lr_scheduler.CosineAnnealingLR(T_max=100) gives, step by step.
TEST(Schedule, FollowsACosine) {
  const Schedule schedule{.decline = Decline::cosine};
  EXPECT_DOUBLE_EQ(rate(schedule, 0), 0.4);
  EXPECT_NEAR(rate(schedule, 50), 0.2, 1e-12);
  EXPECT_NEAR(rate(schedule, 99), 9.8687932e-05, 1e-10);
}

// As torch.optim.lr_scheduler.OneCycleLR(max_lr=0.4, total_steps=100).
TEST(Schedule, RisesAndFallsInOneCycle) {
  const Schedule schedule{.decline = Decline::one_cycle};
  EXPECT_NEAR(rate(schedule, 0), 0.016, 1e-12);
  EXPECT_NEAR(rate(schedule, 10), 0.11806557938564033, 1e-12);
  EXPECT_NEAR(rate(schedule, 29), 0.4, 1e-12);
  EXPECT_NEAR(rate(schedule, 60), 0.23571203611421152, 1e-12);
  EXPECT_NEAR(rate(schedule, 99), 1.6e-6, 1e-12);
}

TEST(Schedule, IsDefinedForASingleStep) {
  for (const Decline decline : {Decline::none, Decline::step, Decline::cosine, Decline::one_cycle})
    EXPECT_GE(learning_rate_at({.decline = decline, .warm_up_epochs = 0}, 1, 0, 1, 1), 0) << name(decline);
}

}  // namespace
}  // namespace plimsoll::job
