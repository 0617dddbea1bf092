#include "plan/schedule/engine.hpp"

#include <atomic>

#include <gtest/gtest.h>

#include "plan/schedule/bounds.hpp"
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

/// How often another is asked for what comes next.
class Counted final : public Policy {
 public:
  explicit Counted(std::unique_ptr<Policy> other) : other_(std::move(other)) {}
  void arrive(const View& view, std::size_t job) override { other_->arrive(view, job); }
  void failed(const View& view, std::size_t job) override { other_->failed(view, job); }
  std::optional<Start> next(const View& view) override {
    EXPECT_LT(++asked_, 1000);
    return asked_ < 1000 ? other_->next(view) : std::nullopt;
  }
  [[nodiscard]] std::optional<double> look_again(double now) const override {
    return asked_ < 1000 ? other_->look_again(now) : std::nullopt;
  }

 private:
  std::unique_ptr<Policy> other_;
  int asked_ = 0;
};

TEST(Simulate, TheGateLooksNoLongerThanSomethingChanges) {
  Instance instance = two_on_one(share::Way::mps);
  instance.kinds[0].activity = 0.9;
  instance.kinds[0].occupancy = 0.6;
  instance.jobs[0].seconds = instance.jobs[1].seconds = 1e8;
  Rates rates = alike(1);
  Counted busy(policy_named("carma")->make(instance));
  EXPECT_EQ(simulate(instance, rates, {rates}, busy).jobs[1].start, 1e8);
  // One that starts up leaves the SMs idle, and the gate open.
  instance.jobs[0].startup = 6;
  instance.jobs[1].arrival = 0;
  instance.jobs[1].seconds = 10;
  Counted starting(policy_named("carma")->make(instance));
  const Outcome outcome = simulate(instance, rates, {rates}, starting);
  EXPECT_EQ(outcome.jobs[1].start, 5);
}

TEST(Simulate, WhoStartsUpTakesMemoryButSlowsNobody) {
  Instance instance = two_on_one(share::Way::mps);
  instance.jobs[0].startup = 2;
  instance.jobs[1].startup = 6;
  Rates rates = alike(0.5);
  const auto policy = naive_policy(instance);
  const Outcome out = simulate(instance, rates, {rates}, *policy);
  // Computes from 2 on; the other one comes at 5, computes from 11 on, and costs it half of its last second.
  EXPECT_NEAR(out.jobs[0].first_step, 2, 1e-9);
  EXPECT_NEAR(out.jobs[1].start, 5, 1e-9);
  EXPECT_NEAR(out.jobs[1].first_step, 11, 1e-9);
  EXPECT_NEAR(out.jobs[0].end, 13, 1e-9);
  EXPECT_NEAR(out.jobs[1].end, 32, 1e-9);
  EXPECT_GE(out.makespan, lower_bound(instance, most_combined(instance, rates, 2)).seconds());
  instance.places[0].memory = kGiB;  // of which both together have too little
  const auto again = plimsoll_policy(instance);
  EXPECT_NEAR(simulate(instance, rates, {rates}, *again).jobs[1].start, 12, 1e-9);
}

TEST(Simulate, TheFirstOfAKindFillsTheCachesOfAMachine) {
  Instance instance = two_on_one(share::Way::exclusive);
  instance.jobs = {{.name = "a", .startup = 1, .settling = 3, .seconds = 10},
                   {.name = "b", .startup = 1, .settling = 3, .seconds = 10},
                   {.name = "c", .startup = 1, .settling = 3, .seconds = 10, .after = {0}}};
  instance.places.push_back({.name = "1", .device = 1, .memory = 8 * kGiB});
  Rates rates = alike(1);
  const auto policy = exclusive_policy(instance);
  const Outcome out = simulate(instance, rates, {rates}, *policy);
  EXPECT_NEAR(out.jobs[0].first_step, 1, 1e-9);
  EXPECT_NEAR(out.jobs[0].end, 14, 1e-9);
  EXPECT_NEAR(out.jobs[1].end, 14, 1e-9) << "it started beside the first, when nothing was cached";
  EXPECT_NEAR(out.jobs[2].end, 25, 1e-9);
}

TEST(Simulate, StartUpsShareTheCoresOfTheirHost) {
  Instance instance = two_on_one(share::Way::mps);
  instance.jobs = {{.name = "a", .startup = 4, .seconds = 10}, {.name = "b", .startup = 4, .seconds = 10}};
  instance.places.push_back({.name = "1", .device = 1, .memory = 8 * kGiB});
  instance.cores = {1};
  Rates rates = alike(1);
  const auto policy = exclusive_policy(instance);
  const Outcome out = simulate(instance, rates, {rates}, *policy);
  EXPECT_NEAR(out.jobs[0].first_step, 8, 1e-9);  // half a core each
  EXPECT_NEAR(out.jobs[1].end, 18, 1e-9);
  instance.cores = {2};
  const auto again = exclusive_policy(instance);
  EXPECT_NEAR(simulate(instance, rates, {rates}, *again).jobs[1].end, 14, 1e-9);
}

TEST(Rates, LargerGroupsAreGuessedFromPairs) {
  int asked = 0;
  Rates whole([&](std::span<const std::uint32_t> kinds, std::size_t) {
    asked = std::max(asked, static_cast<int>(kinds.size()));
    GroupRates out{.speeds = {}, .watts = 100 + 100.0 * static_cast<double>(kinds.size())};
    // The first is slowed down by a half by each of its companions; the others by nobody.
    for (const std::uint32_t kind : kinds) {
      out.speeds.push_back(kind == 0 && kinds.size() > 1 ? 1 / 1.5 : 1);
      out.strains.push_back(kind == 2 ? 0.4 + 0.25 * static_cast<double>(kinds.size() - 1) : 0);
    }
    return out;
  });
  Rates guessed = from_pairs(whole, 100);
  const std::vector<std::uint32_t> three = {0, 1, 2}, four = {0, 1, 1, 2};
  const GroupRates& known = guessed.of(three, 0);
  EXPECT_NEAR(known.speeds[0], 0.5, 1e-9);
  EXPECT_NEAR(known.speeds[1], 1, 1e-9);
  EXPECT_NEAR(known.strains[2], 0.9, 1e-9);
  EXPECT_TRUE(known.allowed);
  EXPECT_NEAR(known.watts, 100 + 100 * 2.5, 1e-9);
  EXPECT_FALSE(guessed.of(four, 0).allowed) << "requests take 1.15 of what they may";
  EXPECT_EQ(asked, 2);
}

TEST(Rates, WhatIsKnownIsNotGuessed) {
  std::size_t largest = 0;
  Rates rates([&](std::span<const std::uint32_t> kinds, std::size_t) {
    largest = std::max(largest, kinds.size());
    return GroupRates{.speeds = std::vector<double>(kinds.size(), kinds.size() > 1 ? 0.5 : 1)};
  });
  const std::vector<std::uint32_t> three = {0, 1, 2};
  EXPECT_NEAR(known_or_guessed(three, 0, rates).speeds[0], 1.0 / 3, 1e-9);  // each of two takes a step more
  EXPECT_EQ(largest, 2);
  EXPECT_EQ(rates.known(three, 0), nullptr);
  rates.set(three, 0, {.speeds = {0.9, 0.8, 0.7}});
  EXPECT_EQ(known_or_guessed(three, 0, rates).speeds[2], 0.7);
}

TEST(Rates, SeveralAreAskedForAtOnceAndEachButOnce) {
  for (const std::size_t at_once : {1, 4}) {
    std::atomic<int> asked = 0;
    Rates rates(
        [&](std::span<const std::uint32_t> kinds, std::size_t) {
          ++asked;
          return GroupRates{.speeds = {static_cast<double>(kinds.front())}};
        },
        at_once);
    std::set<std::vector<std::uint32_t>> groups;
    for (std::uint32_t i = 0; i < 50; ++i) groups.insert({i, i + 1});
    rates.prepare(groups, 0);
    EXPECT_EQ(asked, at_once > 1 ? 50 : 0);
    for (const auto& group : groups) EXPECT_EQ(rates.of(group, 0).speeds.front(), group.front());
    rates.prepare(groups, 0);
    EXPECT_EQ(asked, 50);
  }
}

}  // namespace
}  // namespace plimsoll::plan::schedule
