#include "diagnose/laps.hpp"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/test_recording.hpp"

namespace plimsoll::diagnose {
namespace {

using ::testing::DoubleNear;
using ::testing::Optional;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// Ten seconds: the GPU rests for four, then works; 100 W at rest, 300 W at work.
TestRecording working() {
  TestRecording made(10);
  made.sampled("system/gpu/0/sm_activity", [](double t) { return t <= 4 ? 0.0 : 0.8; })
      .sampled("system/gpu/0/energy", [](double t) { return t <= 4 ? 100 * t : 400 + 300 * (t - 4); })
      .sampled("system/gpu/0/memory_used", [](double t) { return t * 1e9; })
      .sampled("system/run/cpu", 2);
  return made;
}

TEST(Laps, JoinTheMetricWithTheHardware) {
  const Recording run = working().own("loss", {{2, 3.0}, {4, 2.0}, {6, 1.0}}).take();
  const Laps all = step_laps(run, "loss", 100);
  ASSERT_EQ(all.rows.size(), 3u);
  EXPECT_EQ(all.count, 3);
  EXPECT_FALSE(all.of_run);
  const Lap& last = all.rows[2];
  EXPECT_EQ(last.first, 3);
  EXPECT_EQ(last.recorded, 2);
  EXPECT_EQ(last.span, (Span{4, 6}));
  EXPECT_EQ(last.value, 1.0);
  EXPECT_THAT(last.sm_activity, Optional(DoubleNear(0.8, 1e-9)));
  EXPECT_THAT(last.joules, Optional(DoubleNear(600, 1e-6)));
  EXPECT_THAT(last.gpu_memory, Optional(DoubleNear(6e9, 1)));
  EXPECT_THAT(last.cpu, Optional(DoubleNear(2, 1e-9)));
  EXPECT_NEAR(last.covered, 1, 1e-6);
  EXPECT_FALSE(last.coarse);
  EXPECT_EQ(all.rows[0].span, (Span{0, 2}));  // from the run's start
  EXPECT_THAT(all.rows[0].sm_activity, Optional(DoubleNear(0, 1e-9)));
}

TEST(Laps, AGapIsAGap) {
  TestRecording made(10);
  const auto missing = [](double value) {
    return [value](double t) { return t > 3.05 && t < 6.95 ? kNone : value * t; };
  };
  made.sampled("system/gpu/0/sm_activity", missing(0.1))
      .sampled("system/gpu/0/energy", missing(100))
      .own("loss", {{3, 1}, {4, 1}, {6, 1}, {10, 1}});
  const Laps all = step_laps(made.take(), "loss", 100);
  EXPECT_TRUE(all.rows[0].sm_activity);
  EXPECT_EQ(all.rows[2].sm_activity, std::nullopt);
  EXPECT_EQ(all.rows[2].joules, std::nullopt);
  EXPECT_EQ(all.rows[2].covered, 0);
  EXPECT_TRUE(all.rows[3].sm_activity);
  EXPECT_NEAR(all.rows[3].covered, 0.775, 0.01);
}

TEST(Laps, ShorterThanASampleIsMarked) {
  TestRecording made = working();
  std::vector<std::pair<double, double>> losses;
  for (int i = 1; i <= 100; ++i) losses.emplace_back(5 + 0.02 * i, 1.0);
  const Laps all = step_laps(made.own("loss", losses).take(), "loss", 1000);
  ASSERT_EQ(all.rows.size(), 100u);
  EXPECT_FALSE(all.rows[0].coarse);  // from the run's start
  EXPECT_TRUE(all.rows[50].coarse);
  EXPECT_THAT(all.rows[50].sm_activity, Optional(DoubleNear(0.8, 1e-9)));
  EXPECT_THAT(all.rows[50].joules, Optional(DoubleNear(6, 1e-6)));
}

TEST(Laps, TheRunsOwnPartGoesFirst) {
  TestRecording made = working();
  made.sampled("system/run/gpu/0/sm_activity", 0.25)
      .sampled("system/run/gpu/0/energy", [](double t) { return 50 * t; })
      .own("loss", {{2, 1}, {6, 1}});
  const Laps all = step_laps(made.take(), "loss", 10);
  EXPECT_TRUE(all.of_run);
  EXPECT_THAT(all.rows[1].sm_activity, Optional(DoubleNear(0.25, 1e-9)));
  EXPECT_THAT(all.rows[1].joules, Optional(DoubleNear(200, 1e-6)));
}

TEST(Laps, OfSeveralGpus) {
  TestRecording made = working();
  made.sampled("system/gpu/1/sm_activity", 0.2)
      .sampled("system/gpu/1/energy", [](double t) { return 10 * t; })
      .own("loss", {{5, 1}, {10, 1}});
  const Laps all = step_laps(made.take(), "loss", 10);
  EXPECT_THAT(all.rows[1].sm_activity, Optional(DoubleNear(0.5, 1e-9)));
  EXPECT_THAT(all.rows[1].joules, Optional(DoubleNear(1550, 1e-6)));
}

TEST(Laps, ManyAreJoined) {
  std::vector<std::pair<double, double>> losses;
  for (int i = 1; i <= 95; ++i) losses.emplace_back(0.1 * i, i);
  const Laps all = step_laps(working().own("loss", losses).take(), "loss", 10);
  ASSERT_EQ(all.rows.size(), 10u);
  EXPECT_EQ(all.rows[1].first, 11);
  EXPECT_EQ(all.rows[1].last, 20);
  EXPECT_EQ(all.rows[9].last, 95);
  EXPECT_EQ(all.count, 95);
}

TEST(Laps, TheMetricThatIsTaken) {
  TestRecording made(10);
  made.own("accuracy", {{1, 0}, {2, 0}, {3, 0}, {4, 0}});
  made.own("train/Loss", {{1, 0}, {2, 0}, {3, 0}}).own("val_loss", {{1, 0}, {2, 0}});
  EXPECT_EQ(step_metric(made.take()), "train/Loss");
  EXPECT_EQ(step_metric(TestRecording(10).own("loss", {{1, 0}}).take()), std::nullopt);
  EXPECT_EQ(step_metric(TestRecording(10).own("epoch", {{1, 0}, {2, 1}}).take()), std::nullopt);
  EXPECT_EQ(step_laps(working().take(), "loss", 10).rows.size(), 0u);
}

TEST(Epochs, ToldAtTheirEnd) {
  const Laps all = epoch_laps(working().own("epoch", {{3, 1}, {6, 2}, {9.5, 3}}).take(), 10);
  ASSERT_EQ(all.rows.size(), 3u);
  EXPECT_EQ(all.rows[0].span, (Span{0, 3}));
  EXPECT_EQ(all.rows[2].span, (Span{6, 9.5}));
  EXPECT_EQ(all.rows[2].recorded, 3);
}

TEST(Epochs, ToldAtTheirBeginning) {
  const Laps all = epoch_laps(working().own("epoch", {{1, 0}, {4, 1}, {7, 2}}).take(), 10);
  ASSERT_EQ(all.rows.size(), 3u);
  EXPECT_EQ(all.rows[0].span, (Span{1, 4}));
  EXPECT_EQ(all.rows[2].span, (Span{7, 10}));
  EXPECT_EQ(all.rows[0].first, 1);
  EXPECT_EQ(all.rows[0].recorded, 0);
}

TEST(Epochs, ToldWithEveryStepOrInFractions) {
  const Laps all = epoch_laps(working().own("epoch", {{1, 0}, {2, 0}, {3, 1}, {4, 1}, {9.9, 1}}).take(), 10);
  ASSERT_EQ(all.rows.size(), 2u);
  EXPECT_EQ(all.rows[0].span, (Span{1, 3}));
  EXPECT_EQ(all.rows[1].span, (Span{3, 10}));
  const Laps parts = epoch_laps(working().own("epoch", {{2, 0.5}, {4, 1}, {6, 1.5}, {8, 2.5}}).take(), 10);
  ASSERT_EQ(parts.rows.size(), 3u);
  EXPECT_EQ(parts.rows[0].span, (Span{0, 4}));
  EXPECT_EQ(parts.rows[1].span, (Span{4, 7}));
  EXPECT_EQ(parts.rows[2].span, (Span{7, 10}));
}

TEST(Epochs, WhatCountsNoEpochsGivesNone) {
  EXPECT_TRUE(epoch_laps(working().take(), 10).rows.empty());
  EXPECT_TRUE(epoch_laps(working().own("epoch", {{1, -3}, {2, 1e300}}).take(), 10).rows.empty());
  EXPECT_TRUE(epoch_laps(working().own("epoch", {{1, kNone}, {2, 1}}).take(), 10).rows.empty());
}

}  // namespace
}  // namespace plimsoll::diagnose
