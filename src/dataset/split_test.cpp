#include "dataset/split.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "dataset/random.hpp"

namespace plimsoll::dataset {
namespace {

TEST(Shuffled, HoldsEveryNumberOnceAndRepeatsItself) {
  const auto order = shuffled(1000, 7, 3);
  EXPECT_EQ(std::set(order.begin(), order.end()).size(), 1000U);
  EXPECT_EQ(*std::ranges::max_element(order), 999);
  EXPECT_EQ(order, shuffled(1000, 7, 3));
  EXPECT_NE(order, shuffled(1000, 7, 4));
  EXPECT_NE(order, shuffled(1000, 8, 3));
  EXPECT_TRUE(shuffled(0, 1, 1).empty());
}

// A machine of another kind, or a later version, must go on where this one was stopped.
TEST(Shuffled, IsTheSameEverywhere) {
  EXPECT_EQ(Random(1).next(), Random(1, 0, 0).next());
  EXPECT_EQ(shuffled(5, 1, 0), (std::vector<std::int64_t>{0, 4, 1, 3, 2}));
}

// Every place is as likely for every number: of 6000 rounds each of 3! orders is drawn about 1000 times. The
// seed is fixed; five standard deviations of a binomial are 144.
TEST(Shuffled, DrawsEveryOrderAlike) {
  std::map<std::vector<std::int64_t>, int> seen;
  for (std::uint64_t round = 0; round < 6000; ++round) ++seen[shuffled(3, 11, round)];
  EXPECT_EQ(seen.size(), 6U);
  for (const auto& [order, times] : seen) EXPECT_NEAR(times, 1000, 144);
}

TEST(Split, HoldsOutAShareAndLosesNothing) {
  const Split parts = split(100, 0.15, 5);
  EXPECT_EQ(parts.held_out.size(), 15U);
  EXPECT_EQ(parts.training.size(), 85U);
  std::set<std::int64_t> all(parts.training.begin(), parts.training.end());
  all.insert(parts.held_out.begin(), parts.held_out.end());
  EXPECT_EQ(all.size(), 100U);
  EXPECT_TRUE(std::ranges::is_sorted(parts.training));
  EXPECT_EQ(parts.held_out, split(100, 0.15, 5).held_out);
  EXPECT_NE(parts.held_out, split(100, 0.15, 6).held_out);
  EXPECT_TRUE(split(100, 0, 5).held_out.empty());
  EXPECT_TRUE(split(100, 1, 5).training.empty());
}

TEST(SomeOf, TakesSoManyOfThoseThatAreThere) {
  const std::vector<std::int64_t> examples{2, 4, 6, 8, 10};
  const auto some = some_of(examples, 3, 1);
  EXPECT_EQ(some.size(), 3U);
  EXPECT_TRUE(std::ranges::includes(examples, some));
  EXPECT_EQ(some_of(examples, 9, 1), examples);
  EXPECT_TRUE(some_of(examples, 0, 1).empty());
}

}  // namespace
}  // namespace plimsoll::dataset
