#include "plan/schedule/engine.hpp"

#include <gtest/gtest.h>

#include "plan/schedule/policies/policies.hpp"

namespace plimsoll::plan::schedule {
namespace {

/// Two that are beside each other get `together` of their speed.
Rates alike(double together) {
  return Rates([together](std::span<const std::uint32_t> kinds, std::size_t) {
    return GroupRates{.speeds = std::vector<double>(kinds.size(), kinds.size() > 1 ? together : 1),
                      .watts = 300};
  });
}

Instance two_on_one(share::Way way) {
  return {.kinds = {{.name = "k", .share = 0.3, .memory = kGiB, .activity = 0.5}},
          .jobs = {{.name = "a", .seconds = 10}, {.name = "b", .seconds = 20, .arrival = 5}},
          .setups = {{.way = way}},
          .places = {{.name = "0", .memory = 8 * kGiB, .price = 36}},
          .idle_watts = 100};
}

TEST(Simulate, OneAfterTheOther) {
  const Instance instance = two_on_one(share::Way::exclusive);
  Rates rates = alike(0.5);
  const auto policy = exclusive_policy(instance);
  const Outcome out = simulate(instance, rates, {rates}, *policy);
  EXPECT_DOUBLE_EQ(out.jobs[0].end, 10);
  EXPECT_DOUBLE_EQ(out.jobs[1].start, 10);
  EXPECT_DOUBLE_EQ(out.makespan, 30);
  EXPECT_DOUBLE_EQ(out.mean_waiting, 2.5);
  EXPECT_DOUBLE_EQ(out.mean_completion, (10 + 25) / 2.0);
  EXPECT_NEAR(out.joules, 30 * 300, 1e-6);
  EXPECT_NEAR(out.money, 0.3, 1e-9);
  EXPECT_NEAR(out.active, 0.5, 1e-9);
}

TEST(Simulate, BesideEachOtherAsTheTruthSays) {
  const Instance instance = two_on_one(share::Way::naive);
  Rates believed = alike(1), truth = alike(0.5);
  const auto policy = naive_policy(instance);
  const Outcome out = simulate(instance, believed, {truth}, *policy);
  // 5 s alone, then half as fast until its 10 s are done; the other has done 5 of its 20 by then.
  EXPECT_NEAR(out.jobs[0].end, 15, 1e-9);
  EXPECT_NEAR(out.jobs[1].end, 30, 1e-9);
}

TEST(Simulate, OneThatFindsTooLittleMemoryRunsAloneLater) {
  Instance instance = two_on_one(share::Way::mps);
  instance.jobs[1].arrival = 0;
  Rates rates = alike(1);
  const std::vector<Bytes> truly = {5 * kGiB};
  const auto policy = plimsoll_policy(instance);
  const Outcome out = simulate(instance, rates, {rates, truly}, *policy);
  EXPECT_EQ(out.out_of_memory, 1);
  EXPECT_TRUE(out.unplaced.empty());
  EXPECT_NEAR(out.makespan, 30, 1e-9);
}

TEST(Simulate, AServiceStaysToTheEnd) {
  Instance instance = two_on_one(share::Way::mps);
  instance.kinds.push_back({.name = "service", .share = 0.1, .memory = kGiB, .serves = true});
  instance.jobs.push_back({.name = "s", .kind = 1});
  Rates rates = alike(0.8);
  const auto policy = plimsoll_policy(instance);
  const Outcome out = simulate(instance, rates, {rates}, *policy);
  EXPECT_EQ(out.jobs[2].start, 0);
  EXPECT_EQ(out.jobs[2].end, out.makespan);
  EXPECT_GT(out.makespan, 25);
}

TEST(Simulate, EveryPolicyEndsEveryJob) {
  Instance instance = two_on_one(share::Way::mps);
  for (int i = 0; i < 20; ++i)
    instance.jobs.push_back(
        {.name = "more", .seconds = 3.0 + i, .arrival = 2.0 * i, .gpus = i % 7 == 0 ? 2 : 1});
  instance.places.push_back({.name = "1", .device = 1, .memory = 8 * kGiB});
  for (const PolicyRow& row : policy_rows()) {
    instance.setups = {{.way = row.way}};
    Rates rates = alike(0.7);
    const auto policy = row.make(instance);
    const Outcome out = simulate(instance, rates, {rates}, *policy);
    EXPECT_TRUE(out.unplaced.empty()) << row.name;
    for (const Ran& ran : out.jobs) EXPECT_GT(ran.end, ran.start) << row.name;
  }
}

TEST(Simulate, TheGateOpensWhereTheGpuIsNotBusy) {
  Instance instance = two_on_one(share::Way::mps);
  Rates rates = alike(1);
  const auto policy = policy_named("carma")->make(instance);
  EXPECT_EQ(simulate(instance, rates, {rates}, *policy).jobs[1].start, 5);
  instance.kinds[0].activity = 0.9;
  instance.kinds[0].occupancy = 0.6;
  const auto again = policy_named("carma")->make(instance);
  EXPECT_EQ(simulate(instance, rates, {rates}, *again).jobs[1].start, 10);
}

}  // namespace
}  // namespace plimsoll::plan::schedule
