#include "probe/sharing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::probe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Two watchers in turn: each has the GPU for `slice`, and `change` passes between them.
cuda::Turns turns(double slice, double change, int count, double first) {
  cuda::Turns out;
  for (int i = 0; i < count; ++i) {
    const double begin = first + i * 2 * (slice + change);
    out.gaps.push_back({begin, begin + slice + 2 * change});
  }
  return out;
}
Rate step(double seconds, double bytes = 1) {
  return {.name = "step",
          .unit = bytes > 1 ? "B/s" : "s",
          .amount = bytes,
          .at = {},
          .samples = {seconds * 0.99, seconds, seconds, seconds * 3}};
}
std::optional<double> figure(const SharingFindings& found, std::string_view name) {
  for (const SharingFigure& figure : found.figures)
    if (figure.name == name) return figure.value;
  return std::nullopt;
}

TEST(Sharing, TurnsHaveALengthAndAChange) {
  // As on an H200: runs of 2.09 ms, gaps of 2.40 ms.
  SharingAnswers answers;
  answers.turns = {turns(2.09e-3, 1.53e-4, 130, 0.001), turns(2.09e-3, 1.53e-4, 129, 0.0032)};
  const SharingFindings found = sharing_findings(answers);
  ASSERT_EQ(found.figures.size(), 2U);
  EXPECT_NEAR(*figure(found, "slice"), 2.09e-3, 1e-8);
  EXPECT_NEAR(*figure(found, "change"), 1.53e-4, 1e-8);
  EXPECT_THAT(found.remarks, IsEmpty());
}

TEST(Sharing, WhoeverTakesNoTurnsIsSaid) {
  SharingAnswers answers;
  answers.turns = {turns(2e-3, 1e-4, 3, 0), turns(2e-3, 1e-4, 130, 0)};
  const SharingFindings found = sharing_findings(answers);
  EXPECT_THAT(found.figures, IsEmpty());
  EXPECT_THAT(found.remarks, ElementsAre(HasSubstr("took no turns")));
}

TEST(Sharing, LaunchesAreDifferencesPerKernel) {
  const SharingFindings found = sharing_findings(
      {.kernels = 200, .alone = step(800e-6), .client = step(960e-6), .crowded = step(1160e-6)});
  ASSERT_EQ(found.figures.size(), 2U);
  EXPECT_NEAR(*figure(found, "client_launch"), 0.8e-6, 1e-12);
  EXPECT_NEAR(*figure(found, "crowded_launch"), 1e-6, 1e-12);
}

TEST(Sharing, CrowdingIsPerShareOfTheBandwidth) {
  const SharingFindings found = sharing_findings({.client = step(800e-6),
                                                  .spin_streamed = step(840e-6),
                                                  .spin_streaming = step(1e-2, 2e10),
                                                  .near = step(700e-6, 1e6),
                                                  .near_streamed = step(840e-6, 1e6),
                                                  .near_streaming = step(1e-2, 1e10),
                                                  .streaming = step(1e-2, 4e10)});
  ASSERT_EQ(found.figures.size(), 2U);
  EXPECT_NEAR(*figure(found, "crowding_memory"), 0.2 / 0.25, 1e-9);
  EXPECT_NEAR(*figure(found, "crowding_compute"), 0.05 / 0.5, 1e-9);
}

TEST(Sharing, AnIdleNeighbourTellsNothing) {
  const SharingFindings found = sharing_findings({.near = step(700e-6, 1e6),
                                                  .near_streamed = step(840e-6, 1e6),
                                                  .near_streaming = step(1e-2, 1e6),
                                                  .streaming = step(1e-2, 4e10)});
  EXPECT_THAT(found.figures, IsEmpty());
  EXPECT_THAT(found.remarks, ElementsAre(HasSubstr("crowding_memory: the other took only 0.0 %")));
}

TEST(Sharing, DifferencesBelowZeroAreZeroAndSaid) {
  const SharingFindings found =
      sharing_findings({.kernels = 100, .alone = step(801e-6), .client = step(800e-6)});
  EXPECT_THAT(found.figures, ElementsAre(SharingFigure{"client_launch", 0}));
  EXPECT_THAT(found.remarks, ElementsAre(HasSubstr("taken for 0")));
}

TEST(Sharing, WhatCannotBeIsLeftOut) {
  const SharingFindings found = sharing_findings({.kernels = 1, .alone = step(1e-6), .client = step(1)});
  EXPECT_THAT(found.figures, IsEmpty());
  EXPECT_THAT(found.remarks, ElementsAre(HasSubstr("more than can be believed")));
}

TEST(Sharing, NothingFollowsFromNothing) {
  EXPECT_THAT(sharing_findings({}).figures, IsEmpty());
  EXPECT_THAT(sharing_findings({.alone = step(1), .client = step(0)}).figures, IsEmpty());
}

}  // namespace
}  // namespace plimsoll::probe
