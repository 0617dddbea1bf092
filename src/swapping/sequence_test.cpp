// Frames that come one after the other, and where tensors lie.
#include <algorithm>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "swapping/simulate.hpp"
#include "swapping/test_models.hpp"

namespace plimsoll::swapping {
namespace {

TEST(SwapInSequence, RunsAllFramesByArrivalWithinTheCapacity) {
  Random random(11);
  for (int round = 0; round < 20; ++round) {
    const Packed packed = pack(random_models(random, 5, 6, 40), Bytes(8));
    std::vector<std::size_t> order(packed.models.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const std::vector<Stream> streams(packed.models.size(), {10, Seconds(1e-9)});
    const std::vector<Request> requests = bursty_requests(streams, order, 60, 3);
    std::vector<std::size_t> models;
    for (const Request& request : requests) models.push_back(request.model);
    for (const Policy& policy : policies()) {
      const std::int64_t capacity = least_capacity(packed, policy);
      const Question question{.packed = packed, .policy = policy, .link = {}, .capacity = capacity};
      const Outcome outcome = in_sequence(question, requests);
      EXPECT_EQ(outcome.sequence, models);
      EXPECT_LE(outcome.most_taken, capacity);
      EXPECT_EQ(std::accumulate(outcome.moved.begin(), outcome.moved.end(), std::int64_t{0}), outcome.blocks);
      EXPECT_GE(outcome.blocks, packed.largest_layer());
    }
  }
}

TEST(SwapInSequence, ForeknownBlocksMoveNoMoreThanAnyOtherPolicy) {
  Random random(12);
  for (int round = 0; round < 20; ++round) {
    const Packed packed = pack(random_models(random, 5, 6, 40), Bytes(8));
    std::vector<Request> requests;
    for (const std::size_t model : random_sequence(random, packed.models.size(), 40))
      requests.push_back({model, Seconds(static_cast<double>(requests.size())), Seconds(1e9)});
    const std::int64_t capacity = packed.largest_model();
    const auto moved = [&](const Policy& policy) {
      return in_sequence({.packed = packed, .policy = policy, .link = {}, .capacity = capacity}, requests)
          .blocks;
    };
    const std::int64_t least = moved(*policy_named("belady-block"));
    for (const Policy& policy : policies()) EXPECT_LE(least, moved(policy)) << policy.name;
  }
}

TEST(SwapModels, TensorsLieWhereTheirBlocksAre) {
  Random random(13);
  for (int round = 0; round < 50; ++round) {
    const Models models = random_models(random, 5, 6, 300);
    const Packed packed = pack(models, Bytes(64), Bytes(16));
    std::vector<std::pair<std::int64_t, std::int64_t>> pieces;
    for (std::size_t model = 0; model < models.models.size(); ++model)
      for (std::size_t layer = 0; layer < models.models[model].layers.size(); ++layer)
        for (const std::size_t tensor : models.models[model].layers[layer].tensors) {
          const std::int64_t begin = packed.places[tensor].count();
          const std::int64_t end = begin + models.tensors[tensor].count();
          EXPECT_EQ(begin % 16, 0);
          pieces.emplace_back(begin, end);
          for (std::int64_t block = begin / 64; block * 64 < end; ++block)
            EXPECT_TRUE(std::ranges::any_of(packed.models[model].layers[layer].chunks, [&](std::size_t of) {
              const Chunk& chunk = packed.chunks[of];
              return chunk.first <= block && block < chunk.first + chunk.blocks;
            }));
        }
    std::ranges::sort(pieces);
    const auto [last, end] = std::ranges::unique(pieces);  // one tensor may be read by several layers
    pieces.erase(last, end);
    for (std::size_t i = 1; i < pieces.size(); ++i) EXPECT_LE(pieces[i - 1].second, pieces[i].first);
  }
}

}  // namespace
}  // namespace plimsoll::swapping
