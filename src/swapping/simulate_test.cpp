#include "swapping/simulate.hpp"

#include <algorithm>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "swapping/test_models.hpp"

namespace plimsoll::swapping {
namespace {

using testing::ElementsAre;

HostLink link_of(double bytes_per_second, double latency = 0) {
  return {BytesPerSecond(bytes_per_second), Seconds(latency), Provenance::assumed, "a test"};
}

std::vector<std::size_t> given_order(std::size_t models) {
  std::vector<std::size_t> out(models);
  std::iota(out.begin(), out.end(), std::size_t{0});
  return out;
}

/// What really happens on link and device, by the clock.
struct Happening {
  enum What : std::uint8_t { layer_ends, copy_begins, layer_begins } what;
  Seconds at;
  std::size_t run = 0, index = 0;
};

/// Holds a simulation's runs against the clock: never more than there is room for, no layer without its
/// weights, nothing taken from under a layer that computes, no two copies and no two layers at once.
void check_against_the_clock(const Packed& packed, std::int64_t capacity, const std::vector<ModelRun>& runs) {
  std::vector<Happening> all;
  Seconds link_free, device_free;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (std::size_t j = 0; j < runs[i].copies.size(); ++j) {
      EXPECT_GE(runs[i].copies[j].begin, link_free);
      link_free = runs[i].copies[j].end;
      all.push_back({Happening::copy_begins, runs[i].copies[j].begin, i, j});
    }
    for (std::size_t j = 0; j < runs[i].begins.size(); ++j) {
      EXPECT_GE(runs[i].begins[j], device_free);
      device_free = runs[i].ends[j];
      all.push_back({Happening::layer_begins, runs[i].begins[j], i, j});
      all.push_back({Happening::layer_ends, runs[i].ends[j], i, j});
    }
  }
  std::ranges::stable_sort(all, {}, [](const Happening& h) { return std::pair(h.at, h.what); });
  std::vector<std::int64_t> held(packed.chunks.size());
  std::vector<Seconds> ready(packed.chunks.size());
  std::vector<int> in_use(packed.chunks.size());
  std::int64_t taken = 0;
  for (const Happening& happening : all) {
    const ModelRun& run = runs[happening.run];
    if (happening.what == Happening::copy_begins) {
      const Load& load = run.decision.loads[happening.index];
      for (const Eviction& eviction : load.evictions) {
        held[eviction.chunk] -= eviction.blocks;
        taken -= eviction.blocks;
        EXPECT_GE(held[eviction.chunk], 0);
        EXPECT_EQ(in_use[eviction.chunk], 0);
        EXPECT_LE(ready[eviction.chunk], happening.at);
      }
      held[load.chunk] += load.blocks;
      taken += load.blocks;
      ready[load.chunk] = run.copies[happening.index].end;
      EXPECT_LE(taken, capacity);
      continue;
    }
    const bool begins = happening.what == Happening::layer_begins;
    for (const std::size_t chunk : packed.models[run.model].layers[happening.index].chunks) {
      EXPECT_EQ(held[chunk], packed.chunks[chunk].blocks);
      EXPECT_LE(ready[chunk], happening.at);
      in_use[chunk] += begins ? 1 : -1;
    }
  }
}

TEST(SwapSimulation, TheBudgetHoldsAtEveryMoment) {
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    Random random(seed);
    const Packed packed = pack(random_models(random, 5, 6, 200), Bytes(16));
    std::vector<Stream> streams;
    for (std::size_t i = 0; i < packed.models.size(); ++i)
      streams.push_back({static_cast<double>(1 + random.below(30)), Seconds(0.1)});
    const std::vector<std::size_t> order = given_order(streams.size());
    const auto requests =
        seed % 2 == 0 ? steady_requests(streams, order, 80) : bursty_requests(streams, order, 80, seed);
    for (const Policy& policy : policies()) {
      const std::int64_t least = least_capacity(packed, policy);
      const std::int64_t capacity =
          least +
          static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(packed.blocks - least + 1)));
      std::vector<ModelRun> runs;
      const Question question{.packed = packed,
                              .policy = policy,
                              .link = link_of(20'000, 1e-4),
                              .capacity = capacity,
                              .late = seed % 3 == 0 ? Late::run : Late::dropped,
                              .foreseen = seed % 5 < 3};
      const Outcome outcome = simulate(question, requests, [&](const ModelRun& run) { runs.push_back(run); });
      check_against_the_clock(packed, capacity, runs);
      EXPECT_LE(outcome.most_taken, capacity);
      EXPECT_EQ(outcome.sequence.size(), runs.size());
      for (std::size_t i = 0; i < requests.size(); ++i) {
        if (!outcome.frames[i].finish) continue;
        EXPECT_GE(*outcome.frames[i].finish, requests[i].arrival);
        EXPECT_EQ(outcome.frames[i].met, *outcome.frames[i].finish <= requests[i].deadline);
      }
    }
  }
}

/// Two layers of 10 B, each of a second: 10 B/s.
Models two_layers(std::size_t models) {
  Models out;
  for (std::size_t i = 0; i < models; ++i) {
    out.tensors.insert(out.tensors.end(), {Bytes(10), Bytes(10)});
    out.models.push_back({fmt::format("m{}", i), {{{2 * i}, Seconds(1)}, {{2 * i + 1}, Seconds(1)}}, {}});
  }
  return out;
}

TEST(SwapSimulation, ComputingBeginsWhenTheFirstLayerIsThere) {
  const Packed packed = pack(two_layers(1), Bytes(10));
  std::vector<ModelRun> runs;
  const std::vector<Request> requests{{0, Seconds(0), Seconds(100)}};
  const Outcome outcome = simulate({packed, *policy_named("lru"), link_of(10), 2}, requests,
                                   [&](const ModelRun& run) { runs.push_back(run); });
  ASSERT_EQ(runs.size(), 1);
  EXPECT_THAT(runs[0].begins, ElementsAre(Seconds(1), Seconds(2)));
  EXPECT_EQ(*outcome.frames[0].finish, Seconds(3));  // one after the other it would be 4
  EXPECT_EQ(outcome.waited, Seconds(1));
  EXPECT_EQ(outcome.blocks, 2);
}

TEST(SwapSimulation, WhatComesNextIsCopiedBesideComputing) {
  const Packed packed = pack(two_layers(2), Bytes(10));
  const std::vector<Request> requests{{0, Seconds(0), Seconds(100)}, {1, Seconds(0), Seconds(100)}};
  const auto finish = [&](std::string_view policy, std::int64_t capacity) {
    return *simulate({packed, *policy_named(policy), link_of(10), capacity}, requests).frames[1].finish;
  };
  EXPECT_EQ(finish("lru", 4), Seconds(5));           // all of it while the first computes
  EXPECT_EQ(finish("belady-block", 2), Seconds(5));  // a layer's room is free as soon as it has computed
  EXPECT_EQ(finish("lru", 2), Seconds(6));           // the whole model goes when it has ended
}

TEST(SwapSimulation, WhatWouldBeLateIsDroppedAndMovesNothing) {
  const Packed packed = pack(two_layers(1), Bytes(10));
  const std::vector<Request> requests{{0, Seconds(0), Seconds(2.5)}};
  const Question question{packed, *policy_named("lru"), link_of(10), 2};
  const Outcome dropped = simulate(question, requests);
  EXPECT_FALSE(dropped.frames[0].finish);
  EXPECT_EQ(dropped.blocks, 0);
  Question other = question;
  other.late = Late::run;
  const Outcome ran = simulate(other, requests);
  EXPECT_EQ(*ran.frames[0].finish, Seconds(3));
  EXPECT_FALSE(ran.frames[0].met);
}

TEST(SwapSimulation, WithoutForesightNothingIsCopiedBeforeItIsAskedFor) {
  const Packed packed = pack(two_layers(1), Bytes(10));
  const std::vector<Request> requests{{0, Seconds(10), Seconds(100)}};
  Question question{packed, *policy_named("lru"), link_of(10), 2};
  EXPECT_EQ(*simulate(question, requests).frames[0].finish, Seconds(12));
  question.foreseen = false;
  EXPECT_EQ(*simulate(question, requests).frames[0].finish, Seconds(13));
}

TEST(SwapSimulation, WhereAllIsThereNothingMoves) {
  const Packed packed = pack(two_layers(2), Bytes(10));
  const std::vector<Stream> streams(2, {.rate = 0.1, .limit = Seconds(2)});
  const auto requests = steady_requests(streams, given_order(2), 20);
  const Outcome outcome =
      simulate({packed, *policy_named("lru"), link_of(10), 4, Late::dropped, true, true}, requests);
  EXPECT_EQ(outcome.blocks, 0);
  EXPECT_EQ(std::ranges::count(outcome.frames, true, &Frame::met), 10);  // the second comes 4 s after
}

TEST(SwapRequests, AreSortedAndKeepTheirRates) {
  const std::vector<Stream> streams{{.rate = 30, .limit = Seconds(0.1)}, {.rate = 5, .limit = Seconds(0.2)}};
  const std::vector<std::size_t> order{1, 0};
  for (const bool bursty : {false, true}) {
    const auto requests =
        bursty ? bursty_requests(streams, order, 7000, 3) : steady_requests(streams, order, 7000);
    ASSERT_EQ(requests.size(), 7000);
    auto sorted = requests;
    sort_requests(sorted, order);
    EXPECT_EQ(sorted, requests);
    EXPECT_NEAR(static_cast<double>(std::ranges::count(requests, 0U, &Request::model)), 6000, 120);
    EXPECT_NEAR(requests.back().arrival.value(), 200, 6);
    for (const Request& request : requests)
      EXPECT_EQ(request.deadline, request.arrival + streams[request.model].limit);
  }
  EXPECT_EQ(bursty_requests(streams, order, 50, 3), bursty_requests(streams, order, 50, 3));
  EXPECT_NE(bursty_requests(streams, order, 50, 3), bursty_requests(streams, order, 50, 4));
  EXPECT_EQ(steady_requests(streams, order, 1).front().model, 1);
}

TEST(SwapSimulation, OverAGridTheSameRunsMoveFewestByBlocks) {
  Random random(11);
  const Models models = random_models(random, 6, 10, 2000);
  for (const Models& held : {models, apart(models)}) {
    const Packed packed = pack(held, Bytes(64));
    for (const double rate : {5.0, 10.0, 30.0})
      for (const bool bursty : {false, true})
        for (const double part : {0.0, 0.5, 0.75}) {
          const std::vector<Stream> streams(packed.models.size(), {.rate = rate, .limit = Seconds(0.1)});
          const auto order = given_order(streams.size());
          const auto requests =
              bursty ? bursty_requests(streams, order, 600, 1) : steady_requests(streams, order, 600);
          const std::int64_t capacity = std::max(
              packed.largest_model(), static_cast<std::int64_t>(part * static_cast<double>(packed.blocks)));
          std::vector<Outcome> outcomes;
          for (const Policy& policy : policies())
            outcomes.push_back(
                simulate({packed, policy, link_of(1e5), capacity, Late::run, !bursty}, requests));
          for (const Outcome& outcome : outcomes) {  // belady-block stands last
            EXPECT_EQ(outcome.sequence, outcomes.back().sequence);
            EXPECT_GE(outcome.blocks, outcomes.back().blocks);
          }
        }
  }
}

}  // namespace
}  // namespace plimsoll::swapping
