#include "queue/learning.hpp"

#include <gtest/gtest.h>

namespace plimsoll::queue {
namespace {

running::Progress at(double time, std::int64_t step) {
  running::Progress out;
  out.step = step;
  out.at = time;
  return out;
}

TEST(Lesson, FiveSecondsOrFiftyStepsAreEnough) {
  Lesson slow(100), quick(100);
  slow.note(at(103, 1), 103);
  EXPECT_FALSE(slow.is_learned());
  slow.note(at(107.9, 2), 107.9);
  EXPECT_FALSE(slow.is_learned());
  slow.note(at(108, 3), 108);
  EXPECT_TRUE(slow.is_learned());
  quick.note(at(101, 10), 101);
  EXPECT_FALSE(quick.is_learned());
  quick.note(at(101.5, 50), 101.5);
  EXPECT_FALSE(quick.is_learned()) << "what the GPU did is not known yet";
  running::Progress read = at(101.6, 52);
  read.gpu_sm_activity = 0.5;
  quick.note(read, 101.6);
  EXPECT_FALSE(quick.is_learned()) << "too short for its pace, which nobody learns in company";
  quick.note(at(102, 60), 102);
  EXPECT_TRUE(quick.is_learned());
}

TEST(Lesson, TellsPaceLengthAndStartUpOfAWholeRun) {
  Lesson lesson(100);
  for (int step = 10; step <= 100; step += 10) lesson.note(at(105 + 0.1 * step, step), 0);
  const Profile learned = lesson.learned({}, true);
  EXPECT_NEAR(*learned.steps_per_second, 10, 1e-9);
  EXPECT_NEAR(*learned.seconds, 10, 1e-9);
  EXPECT_NEAR(*learned.startup, 5, 1e-9);
  EXPECT_EQ(learned.steps, 100);
  EXPECT_FALSE(lesson.learned({}, false).seconds) << "it has not come to its end";
}

TEST(Lesson, ItsPaceInCompanyIsNotItsPaceAlone) {
  Lesson lesson(0);
  for (int step = 1; step <= 40; ++step) lesson.note(at(0.1 * step, step), 0);
  lesson.note_company(4, false);
  for (int step = 41; step <= 60; ++step) lesson.note(at(4 + 1.0 * (step - 40), step), 0);
  EXPECT_NEAR(*lesson.learned({}, false).steps_per_second, 10, 1e-9);
  EXPECT_NEAR(*lesson.pace_since(5), 1, 1e-9);
  EXPECT_FALSE(lesson.pace_since(1000));
}

TEST(Lesson, WhatIsKnownStaysWhereNothingBetterWasSeen) {
  const Profile before{.steps_per_second = 3, .peak = 5 * kGiB};
  Lesson lesson(0);
  lesson.note_company(0, false);
  running::Progress progress = at(1, 1);
  progress.gpu_bytes = 2 * kGiB;
  lesson.note(progress, 1);
  lesson.note(at(9, 2), 9);
  EXPECT_EQ(lesson.learned(before, false).steps_per_second, 3);
  EXPECT_EQ(lesson.learned(before, false).peak, 5 * kGiB);
}

TEST(Lesson, StepsThatGoBackAreNone) {
  Lesson lesson(0);
  lesson.note(at(1, 10), 1);
  lesson.note(at(2, 5), 2);
  EXPECT_EQ(lesson.steps_done(), 10);
}

TEST(Profile, ComesBackFromItsText) {
  const Profile profile{.steps_per_second = 2.5,
                        .steps = 100,
                        .seconds = 40,
                        .startup = 3,
                        .peak = 3 * kGiB,
                        .sms = 0.25,
                        .bandwidth = 0.125,
                        .watts = 300,
                        .run = "abc",
                        .device = "H200"};
  EXPECT_EQ(read_profile(profile_text(profile)), profile);
  EXPECT_EQ(read_profile(profile_text({})), Profile());
  for (const char* nonsense :
       {"", "[]", "{\"steps\": -1}", "{\"peak_bytes\": \"x\"}", "{\"sm_activity\": []}"})
    EXPECT_TRUE(!read_profile(nonsense) || read_profile(nonsense) == Profile()) << nonsense;
  EXPECT_FALSE(read_profile("{\"steps\": -1}"));
}

}  // namespace
}  // namespace plimsoll::queue
