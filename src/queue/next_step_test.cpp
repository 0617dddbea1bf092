#include "queue/next_step.hpp"

#include <gtest/gtest.h>

namespace plimsoll::queue {
namespace {

using running::Ended;
using running::Outcome;

AttemptEnd with(Outcome outcome) {
  return {.ended = Ended{.outcome = outcome, .reason = "why"}};
}

TEST(NextStep, AFinalEndStaysOne) {
  for (const Outcome outcome : {Outcome::finished, Outcome::failed, Outcome::killed_for_memory,
                                Outcome::time_limit, Outcome::epoch_limit, Outcome::interrupted}) {
    const NextStep next = next_step({.save = 10, .rerun = true}, {}, with(outcome));
    EXPECT_FALSE(next.again) << running::name(outcome);
    EXPECT_EQ(next.outcome, running::name(outcome));
  }
}

TEST(NextStep, OutOfMemoryRaisesTheNeedAndIsTriedTwice) {
  AttemptEnd end = with(Outcome::cuda_out_of_memory);
  end.given = 4 * kGiB;
  end.seen = 5 * kGiB;
  const NextStep first = next_step({}, {}, end);
  ASSERT_TRUE(first.again);
  EXPECT_GE(first.notes.need->count(), (7 * kGiB).count());
  EXPECT_FALSE(first.notes.alone);
  end.given = first.notes.need;
  const NextStep second = next_step({}, first.notes, end);
  ASSERT_TRUE(second.again);
  EXPECT_TRUE(second.notes.alone);
  EXPECT_GT(second.notes.need->count(), first.notes.need->count());
  EXPECT_FALSE(next_step({}, second.notes, end).again);
}

TEST(NextStep, WhatNoGpuHasIsNotWaitedFor) {
  AttemptEnd end = with(Outcome::cuda_out_of_memory);
  end.given = 100 * kGiB;
  end.largest = 140 * kGiB;
  const NextStep first = next_step({}, {}, end);
  ASSERT_TRUE(first.again);
  EXPECT_TRUE(first.notes.alone);
  EXPECT_LE(first.notes.need.value_or(Bytes()), *end.largest);
  const NextStep second = next_step({}, first.notes, end);
  ASSERT_TRUE(second.again);
  EXPECT_LE(second.notes.need.value_or(Bytes()), *end.largest);
  EXPECT_FALSE(next_step({}, second.notes, end).again);
}

TEST(NextStep, AnExitCodeIsNotTakenForOutOfMemory) {
  AttemptEnd end = with(Outcome::failed);
  end.ended->exit_code = 1;
  EXPECT_FALSE(next_step({.rerun = true}, {}, end).again);
}

TEST(NextStep, AMoveIsNoEndButSuccessIs) {
  const JobNotes moving{.saved = true, .moving = true};
  const NextStep moved = next_step({.save = 10}, moving, with(Outcome::interrupted));
  ASSERT_TRUE(moved.again);
  EXPECT_EQ(moved.notes.moves, 1);
  EXPECT_FALSE(moved.notes.moving);
  EXPECT_FALSE(next_step({.save = 10}, moving, with(Outcome::finished)).again);
  EXPECT_FALSE(next_step({.save = 10}, moving, with(Outcome::failed)).again);
}

TEST(NextStep, WhoseEndNobodySawRunsAgainOnlyWhereItMay) {
  const AttemptEnd unseen{};
  EXPECT_FALSE(next_step({}, {}, unseen).again);
  EXPECT_EQ(next_step({}, {}, unseen).outcome, "unknown");
  EXPECT_TRUE(next_step({.rerun = true}, {}, unseen).again);
  EXPECT_FALSE(next_step({.save = 10}, {}, unseen).again);
  EXPECT_TRUE(next_step({.save = 10}, {}, {.saved = true}).again);
  EXPECT_FALSE(next_step({.rerun = true}, {.cancelled = true}, unseen).again);
}

TEST(NextStep, WhatNeverBeganIsUndone) {
  EXPECT_TRUE(next_step({}, {}, {.began = false}).again);
  EXPECT_FALSE(next_step({}, {.cancelled = true}, {.began = false}).again);
}

TEST(NextStep, ARefusalIsTriedAgainSomeTimes) {
  JobNotes notes;
  for (int i = 1; i < kMostUnstarted; ++i) {
    const NextStep next = next_step({}, notes, {.began = false, .refused = "no store"});
    ASSERT_TRUE(next.again) << i;
    notes = next.notes;
  }
  const NextStep last = next_step({}, notes, {.began = false, .refused = "no store"});
  EXPECT_FALSE(last.again);
  EXPECT_EQ(last.outcome, "refused");
  EXPECT_EQ(last.reason, "no store");
  // What the machine lacked is not counted, and one start counts anew.
  EXPECT_EQ(next_step({}, notes, {.began = false}).notes, notes);
  EXPECT_EQ(next_step({.rerun = true}, notes, {}).notes.unstarted, 0);
}

TEST(NextStep, ALeaseThatEndedIsLikeAnEndThatNobodySaw) {
  AttemptEnd end = with(Outcome::interrupted);
  end.lease_ended = true;
  EXPECT_FALSE(next_step({}, {}, end).again);
  EXPECT_TRUE(next_step({.rerun = true}, {}, end).again);
}

TEST(NextStep, WhoFellTogetherRunAgainApart) {
  AttemptEnd end = with(Outcome::failed);
  end.gpu_fault = end.others_fell = true;
  const NextStep next = next_step({}, {}, end);
  ASSERT_TRUE(next.again);
  EXPECT_TRUE(next.notes.apart);
  EXPECT_FALSE(next.notes.alone);
  end.others_fell = false;  // apart, and again: it was its own
  EXPECT_FALSE(next_step({}, next.notes, end).again);
  end.others_fell = true;
  end.gpu_fault = false;  // it failed for another reason
  EXPECT_FALSE(next_step({}, {}, end).again);
  end.gpu_fault = true;
  EXPECT_FALSE(next_step({}, {.neighbours = kMostNeighbours}, end).again);
}

TEST(NextStep, AnEndOfTheMpsDaemonIsNobodysFault) {
  AttemptEnd end = with(Outcome::failed);
  end.gpu_fault = end.others_fell = end.nobodys_fault = true;
  const NextStep next = next_step({}, {}, end);
  ASSERT_TRUE(next.again);
  EXPECT_FALSE(next.notes.apart);
  EXPECT_FALSE(next.notes.alone);
}

TEST(NextStep, NotesAreReadAsTheyWereWritten) {
  const JobNotes notes{.need = 3 * kGiB,
                       .alone = true,
                       .apart = true,
                       .out_of_memory = 1,
                       .moves = 2,
                       .neighbours = 3,
                       .unstarted = 4,
                       .saved = true,
                       .cancelled = true,
                       .moving = true};
  EXPECT_EQ(read_notes(notes_text(notes)), notes);
  EXPECT_EQ(read_notes(""), JobNotes());
  EXPECT_EQ(read_notes("{}"), JobNotes());
  EXPECT_EQ(read_notes("[1]"), std::nullopt);
  EXPECT_EQ(read_notes(R"({"moves": -1})"), std::nullopt);
}

TEST(NextStep, TheEndOfAnAllocationsTimeIsOneForWhoCannotGoOn) {
  AttemptEnd end = with(Outcome::interrupted);
  end.time_was_up = true;
  const NextStep over = next_step({}, {}, end);
  EXPECT_FALSE(over.again);
  EXPECT_EQ(over.outcome, "interrupted");
  EXPECT_TRUE(next_step({.save = 10}, {.saved = true}, end).again);
  EXPECT_FALSE(next_step({.save = 10}, {}, end).again);
  // Who may run again does so within limits: it may never end within an allocation's time.
  JobNotes notes;
  for (int i = 0; i < 2; ++i) {
    const NextStep next = next_step({.rerun = true, .most_moves = 2}, notes, end);
    ASSERT_TRUE(next.again);
    notes = next.notes;
  }
  EXPECT_FALSE(next_step({.rerun = true, .most_moves = 2}, notes, end).again);
  // The scheduler ends all inside at once, and who watches them may not have been told yet.
  end = with(Outcome::failed);
  end.time_was_up = true;
  EXPECT_FALSE(next_step({.rerun = true}, {}, end).again);
  end.ended->signal = 15;
  EXPECT_TRUE(next_step({.rerun = true}, {}, end).again);
  EXPECT_FALSE(next_step({.rerun = true}, {.cancelled = true}, end).again);
}

}  // namespace
}  // namespace plimsoll::queue
