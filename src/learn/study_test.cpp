#include "learn/study.hpp"

#include <gtest/gtest.h>

#include "learn/study_file.hpp"

namespace plimsoll::learn {
namespace {

const std::vector<Target> kTarget = {{"accuracy", Direction::at_least, 0.9}};

Training rising(double pace) {
  Training out{.name = "a", .curves = {{}}, .until = 100};
  for (int i = 1; i <= 100; ++i) out.curves[0].push_back({static_cast<double>(i), 0.01 * pace * i});
  return out;
}

Setup times(std::vector<Observation> observations) {
  return {.name = "s", .observations = std::move(observations)};
}

TEST(Training, IsThereWhenAllTargetsHoldAtOnce) {
  Training two{
      .name = "a", .curves = {{{1, 0.95}, {2, 0.5}, {3, 0.95}}, {{1, 2}, {2, 0.05}, {3, 0.05}}}, .until = 3};
  const std::vector<Target> both = {kTarget.front(), {"loss", Direction::at_most, 0.1}};
  EXPECT_EQ(time_to_targets(two, both), (Observation{3, true}));
  EXPECT_EQ(time_to_targets(rising(0.5), kTarget), (Observation{100, false}));
}

TEST(Training, IsReachedLaterWhereItIsLookedAtLess) {
  EXPECT_EQ(time_to_targets(rising(1.0), kTarget).time, 90);
  EXPECT_EQ(time_to_targets(evaluated_less(rising(1.0), 8), kTarget).time, 96);
}

TEST(Study, RefusesAWinnerWhereNoOutcomeCouldShowOne) {
  const std::vector three = {times({{1}, {2}, {3}}), times({{7}, {8}, {9}})};
  EXPECT_EQ(study_of(three, {}, Clock::seconds, true, {}).comparisons[0].winner, Winner::too_few);
  const std::vector four = {times({{1}, {2}, {3}, {4}}), times({{7}, {8}, {9}, {10}})};
  EXPECT_EQ(study_of(four, {}, Clock::seconds, true, {}).comparisons[0].winner, Winner::first);
}

TEST(Study, GoesByTheLogRankWhereSomeNeverReachedIt) {
  const auto quick = times({{1}, {2}, {3}, {4}, {5}}),
             never = times({{9, false}, {9, false}, {9, false}, {9, false}, {9}});
  const Study study = study_of(std::vector{never, quick}, {}, Clock::seconds, true, {});
  EXPECT_TRUE(study.comparisons[0].by_log_rank);
  EXPECT_EQ(study.comparisons[0].winner, Winner::second);
  EXPECT_FALSE(study.setups[0].mean);
  EXPECT_EQ(study.setups[0].horizon, 5);
}

TEST(Study, NeedsNoRanksOfRunsThatWereLookedAtTooShortly) {
  const Study study =
      study_of(std::vector{times({{1}, {2, false}}), times({{5}, {6}})}, {}, Clock::seconds, true, {});
  EXPECT_FALSE(study.comparisons[0].mann_whitney);
}

TEST(StudyFile, IsReadAsTimesOrCurves) {
  const auto file = read_study(R"({"targets": ["accuracy>=0.5"], "clock": "steps", "setups": [
    {"times": [3, 4], "reached": [true, false]},
    {"name": "b", "runs": [{"points": [[1, 0.4], [2, 0.6]], "until": 9, "goes_on": true}]}]})");
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_EQ(file->clock, Clock::steps);
  EXPECT_EQ(file->setups[0].observations[1], (Observation{4, false}));
  EXPECT_EQ(file->setups[1].observations[0], (Observation{2, true}));
}

TEST(StudyFile, RefusesWhatItCannotUse) {
  for (const char* wrong :
       {"", "[]", "{}", R"({"setups": []})", R"({"setups": [{"times": []}]})",
        R"({"setups": [{"times": [-1]}]})", R"({"setups": [{"times": [1], "reached": [true, true]}]})",
        R"({"setups": [{"times": [1], "reached": [1]}]})",
        R"({"setups": [{"runs": [{"points": [[1, 2]]}]}]})",
        R"({"targets": ["a>=1"], "setups": [{"runs": [{"points": [[2, 0], [1, 0]]}]}]})",
        R"({"targets": ["a>=1"], "setups": [{"runs": [{"points": [[2]]}]}]})",
        R"({"targets": ["a>=1"], "setups": [{"runs": [{"points": [3]}]}]})",
        R"({"clock": "x", "setups": [{"times": [1]}]})"})
    EXPECT_FALSE(read_study(wrong)) << wrong;
}

}  // namespace
}  // namespace plimsoll::learn
