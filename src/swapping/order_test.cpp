#include "swapping/order.hpp"

#include <algorithm>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "swapping/test_models.hpp"

namespace plimsoll::swapping {
namespace {

std::int64_t blocks_of(const Packed& packed, const std::vector<std::size_t>& order) {
  std::int64_t out = 0;
  for (std::size_t i = 0; i < order.size(); ++i)
    out += blocks_added(packed, order[i], order[(i + 1) % order.size()]);
  return out;
}

TEST(SwapOrder, NoOtherRoundAddsFewerBlocks) {
  int better = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed);
    const Packed packed = pack(random_models(random, 7, 4, 100), Bytes(10));
    const Round best = best_round(packed);
    std::vector<std::size_t> order(packed.models.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::int64_t least = blocks_of(packed, order);
    while (std::next_permutation(order.begin() + 1, order.end()))
      least = std::min(least, blocks_of(packed, order));
    EXPECT_EQ(best.blocks, least) << seed;
    EXPECT_EQ(blocks_of(packed, best.order), least) << seed;
    better += least < given_round(packed).blocks;
  }
  EXPECT_GE(better, 10);
}

TEST(SwapOrder, WhereNothingIsSharedTheGivenOrderStays) {
  Models models;
  for (std::size_t i = 0; i < 20; ++i) {
    models.tensors.emplace_back(static_cast<std::int64_t>(100 - i));
    models.models.push_back({fmt::format("m{}", i), {{{i}, Seconds(1)}}, {}});
  }
  const Round round = best_round(pack(models, Bytes(10)));
  EXPECT_TRUE(std::ranges::is_sorted(round.order));
  EXPECT_FALSE(round.exact);
}

}  // namespace
}  // namespace plimsoll::swapping
