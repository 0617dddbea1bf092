#include "queue/turns.hpp"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::queue {
namespace {

std::vector<std::int64_t> order_of(std::vector<WaitingNow> waiting) {
  std::ranges::stable_sort(waiting, std::greater(), &WaitingNow::rank);
  std::vector<std::int64_t> out;
  for (const WaitingNow& one : waiting) out.push_back(one.number);
  return out;
}

TEST(Turns, AHundredJobsOfOneDoNotHoldUpAnother) {
  std::vector<WaitingNow> waiting;
  for (int i = 1; i <= 100; ++i) waiting.push_back({.number = i, .rank = 0.5, .user = "many"});
  waiting.push_back({.number = 101, .user = "few"});
  take_turns(waiting, {});
  const auto order = order_of(waiting);
  EXPECT_EQ(order[0], 1);
  EXPECT_EQ(order[1], 101);
}

TEST(Turns, WhoHasSomeRunningComesAfterWhoHasNone) {
  std::vector<WaitingNow> waiting{{.number = 1, .user = "a"}, {.number = 2, .user = "b"}};
  take_turns(waiting, {{.number = 9, .user = "a"}});
  EXPECT_THAT(order_of(waiting), testing::ElementsAre(2, 1));
}

TEST(Turns, WaitingOutweighsThemInTheEnd) {
  std::vector<WaitingNow> waiting{{.number = 1, .rank = 7, .user = "a"}, {.number = 2, .user = "b"}};
  std::vector<RunningNow> running(50, RunningNow{.user = "a"});
  take_turns(waiting, running);
  EXPECT_THAT(order_of(waiting), testing::ElementsAre(1, 2));
}

TEST(Turns, NobodyRunsMoreThanHisLimit) {
  std::vector<WaitingNow> waiting{{.number = 1, .user = "a"},
                                  {.number = 2, .rank = 1, .user = "a"},
                                  {.number = 3, .user = "a"},
                                  {.number = 4, .user = "b"}};
  const auto waits = keep_to_limit(waiting, {{.number = 9, .user = "a"}}, 2);
  EXPECT_THAT(order_of(waiting), testing::ElementsAre(2, 4));
  EXPECT_EQ(waits.size(), 2);
  EXPECT_THAT(waits.at(1), testing::HasSubstr("2 jobs at once"));
  std::vector<WaitingNow> all{{.number = 1}, {.number = 2}};
  EXPECT_TRUE(keep_to_limit(all, {}, 0).empty());
  EXPECT_EQ(all.size(), 2);
}

}  // namespace
}  // namespace plimsoll::queue
