#include "diagnose/together.hpp"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/test_recording.hpp"

namespace plimsoll::diagnose {
namespace {

/// A loss every `period` seconds from `first` to `last`.
std::vector<std::pair<double, double>> losses(double first, double last, double period) {
  std::vector<std::pair<double, double>> out;
  for (int i = 0; first + i * period <= last + 1e-9; ++i) out.emplace_back(first + i * period, 1.0);
  return out;
}

TestRecording predicted(double seconds) {
  TestRecording made(seconds);
  made.id("aa")
      .tag("plimsoll.beside.sharing", "mps")
      .tag("plimsoll.beside.with", "bb")
      .tag("plimsoll.beside.speed", "0.5")
      .tag("plimsoll.beside.low", "0.4")
      .tag("plimsoll.beside.high", "0.6")
      .tag("plimsoll.beside.alone_steps_per_second", "10");
  return made;
}

TEST(Together, IsMeasuredWhileAllWork) {
  // Alone until the other has loaded, at twice the speed.
  std::vector<std::pair<double, double>> steps = losses(1, 3, 0.1);
  for (const auto& more : losses(3.25, 9.95, 0.25)) steps.push_back(more);
  const Recording run = predicted(10).own("loss", steps).take();
  const std::array others = {TestRecording(10).id("bb").own("loss", losses(4, 8, 0.5)).take()};
  const auto together = together_of(run, others);
  ASSERT_TRUE(together);
  EXPECT_EQ(together->with, std::vector<std::string>{"bb"});
  EXPECT_EQ(together->sharing, "mps");
  ASSERT_TRUE(together->speed());
  EXPECT_NEAR(*together->speed(), 0.4, 1e-6);
  EXPECT_GE(together->measured->span.from, 4 - 1e-6);
  EXPECT_LE(together->measured->span.to, 8 + 1e-6);
}

TEST(Together, WithoutTheOthersNothingIsMeasured) {
  const Recording run = predicted(10).own("loss", losses(1, 9, 0.25)).take();
  const auto together = together_of(run, {});
  ASSERT_TRUE(together);
  EXPECT_EQ(together->predicted, 0.5);
  EXPECT_FALSE(together->speed());
}

TEST(Together, NothingWhereNothingWasPredicted) {
  EXPECT_FALSE(together_of(TestRecording(10).own("loss", losses(1, 9, 1)).take(), {}));
}

TEST(Pace, CountsByTheNumbersThatTheCommandGives) {
  const auto pace = pace_of(TestRecording(10).own("loss", losses(1, 9, 1)).take(), {0, 10});
  ASSERT_TRUE(pace);
  EXPECT_EQ(pace->span, (Span{1, 9}));
  EXPECT_NEAR(pace->per_second(), 1, 1e-9);
  EXPECT_FALSE(pace_of(TestRecording(10).own("loss", {{1, 1}}).take(), {0, 10}));
}

}  // namespace
}  // namespace plimsoll::diagnose
