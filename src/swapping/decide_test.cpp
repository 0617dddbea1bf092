#include "swapping/decide.hpp"

#include <bit>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "swapping/test_models.hpp"

namespace plimsoll::swapping {
namespace {

/// Blocks that a policy moves for a sequence of runs; what it accounts for is checked at every step.
std::int64_t moved_by(const Packed& packed, const Policy& policy, std::int64_t capacity,
                      std::span<const std::size_t> sequence) {
  Memory memory = empty_memory(packed, capacity);
  std::vector<std::int64_t> held(packed.chunks.size());
  std::int64_t taken = 0, out = 0;
  for (std::size_t at = 0; at < sequence.size(); ++at) {
    Decision decision =
        decide(packed, policy, memory, sequence[at], outlook_of(sequence, at, packed.models.size()));
    auto load = decision.loads.begin();
    const auto& layers = packed.models[sequence[at]].layers;
    for (std::size_t layer = 0; layer < layers.size(); ++layer) {
      for (; load != decision.loads.end() && load->layer == layer; ++load) {
        for (const Eviction& eviction : load->evictions) {
          held[eviction.chunk] -= eviction.blocks;
          taken -= eviction.blocks;
          EXPECT_GE(held[eviction.chunk], 0);
        }
        EXPECT_GT(load->blocks, 0);
        held[load->chunk] += load->blocks;
        taken += load->blocks;
        out += load->blocks;
        EXPECT_LE(taken, capacity);
      }
      for (const std::size_t chunk : layers[layer].chunks)
        EXPECT_EQ(held[chunk], packed.chunks[chunk].blocks) << policy.name << ": a layer lacks weights";
    }
    EXPECT_EQ(load, decision.loads.end());
    EXPECT_EQ(held, decision.after.held);
    EXPECT_EQ(taken, decision.after.taken);
    memory = std::move(decision.after);
  }
  return out;
}

/// The fewest blocks that any choice moves: all of them are tried, block by block.
std::int64_t fewest(const Packed& packed, std::int64_t capacity, std::span<const std::size_t> sequence) {
  std::vector<std::uint32_t> of_chunk;
  std::uint32_t bits = 0;
  for (const Chunk& chunk : packed.chunks) {
    of_chunk.push_back(((1U << static_cast<unsigned>(chunk.blocks)) - 1) << bits);
    bits += static_cast<std::uint32_t>(chunk.blocks);
  }
  std::map<std::uint32_t, std::int64_t> states{{0, 0}};
  for (const std::size_t model : sequence)
    for (const PackedLayer& layer : packed.models[model].layers) {
      std::uint32_t needed = 0;
      for (const std::size_t chunk : layer.chunks) needed |= of_chunk[chunk];
      std::map<std::uint32_t, std::int64_t> after;
      for (const auto& [held, cost] : states) {
        const std::uint32_t others = held & ~needed;
        const std::int64_t moved = cost + std::popcount(needed & ~held);
        for (std::uint32_t kept = others;; kept = (kept - 1) & others) {
          if (std::popcount(kept | needed) <= capacity) {
            const auto [at, is_new] = after.emplace(kept | needed, moved);
            if (!is_new) at->second = std::min(at->second, moved);
          }
          if (kept == 0) break;
        }
      }
      states = std::move(after);
    }
  std::int64_t out = std::numeric_limits<std::int64_t>::max();
  for (const auto& [held, cost] : states) out = std::min(out, cost);
  return out;
}

TEST(SwapDecision, BeladyByBlocksMovesAsLittleAsAnyChoiceCan) {
  int tight = 0;
  for (std::uint64_t seed = 1; seed <= 80; ++seed) {
    Random random(seed);
    const Packed packed = pack(random_models(random, 4, 3, 30), Bytes(10));
    if (packed.blocks > 9) continue;
    const std::int64_t least = packed.largest_layer();
    const std::int64_t capacity =
        least +
        static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(packed.blocks - least + 1)));
    const std::vector<std::size_t> sequence = random_sequence(random, packed.models.size(), 8);
    const std::int64_t moved = moved_by(packed, *policy_named("belady-block"), capacity, sequence);
    EXPECT_EQ(moved, fewest(packed, capacity, sequence)) << "seed " << seed;
    tight += moved > packed.blocks;
  }
  EXPECT_GE(tight, 15);  // instances in which something had to come back
}

TEST(SwapDecision, BeladyByBlocksNeverMovesMoreThanAnyOther) {
  int fewer = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    const Packed packed = pack(random_models(random, 6, 8, 400), Bytes(16));
    const std::int64_t least = packed.largest_model();
    const std::int64_t capacity =
        least +
        static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(packed.blocks - least + 1)));
    const std::vector<std::size_t> sequence = random_sequence(random, packed.models.size(), 40);
    const std::int64_t best = moved_by(packed, *policy_named("belady-block"), capacity, sequence);
    for (const Policy& policy : policies()) {
      const std::int64_t moved = moved_by(packed, policy, capacity, sequence);
      EXPECT_GE(moved, best) << policy.name << ", seed " << seed;
      fewer += best < moved;
    }
  }
  EXPECT_GE(fewer, 300);
}

TEST(SwapDecision, ModelsLargerThanTheMemoryRunLayerByLayer) {
  const Models models{{Bytes(30), Bytes(30), Bytes(30)},
                      {{"a", {{{0}, Seconds(1)}, {{1}, Seconds(1)}, {{2}, Seconds(1)}}, {}}}};
  const Packed packed = pack(models, Bytes(10));
  const Policy& policy = *policy_named("belady-block");
  EXPECT_EQ(least_capacity(packed, policy), 3);
  EXPECT_EQ(least_capacity(packed, *policy_named("lru")), 9);
  const std::vector<std::size_t> sequence{0, 0, 0};
  EXPECT_EQ(moved_by(packed, policy, 3, sequence), 27);
  EXPECT_EQ(moved_by(packed, policy, 6, sequence), 9 + 3 + 6);  // the first stays once, then the second
}

TEST(SwapDecision, AModelThatGoesLeavesWhatOthersShare) {
  const Models models{{Bytes(30), Bytes(20), Bytes(20), Bytes(20)},
                      {{"a", {{{0}, Seconds(1)}, {{1}, Seconds(1)}}, {}},
                       {"b", {{{0}, Seconds(1)}, {{2}, Seconds(1)}}, {}},
                       {"c", {{{3}, Seconds(1)}}, {}}}};
  const Packed packed = pack(models, Bytes(10));
  const std::vector<std::size_t> sequence{0, 1, 2};
  Memory memory = empty_memory(packed, 7);
  for (std::size_t at = 0; at < 3; ++at)
    memory = decide(packed, *policy_named("lru"), memory, sequence[at], outlook_of(sequence, at, 3)).after;
  EXPECT_EQ(memory.taken, 7);  // b with what it shares, and c
  EXPECT_FALSE(memory.whole[0]);
  EXPECT_TRUE(memory.whole[1]);
}

TEST(SwapDecision, UnknownPoliciesAreNamedWithThoseThereAre) {
  const std::vector<std::string> names{"fifo"};
  const auto none = policies_named(names);
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().hint, testing::HasSubstr("belady-block"));
}

}  // namespace
}  // namespace plimsoll::swapping
