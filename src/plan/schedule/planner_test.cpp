#include "plan/schedule/planner.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/schedule/exact.hpp"
#include "plan/schedule/policies/policies.hpp"
#include "plan/schedule/test_instances.hpp"

namespace plimsoll::plan::schedule {
namespace {

using testing::HasSubstr;

/// Exclusively, in the order of arrival.
double first_in_first_out(const TestWorld& world, Rates& rates) {
  Instance instance{.kinds = world.kinds, .jobs = world.jobs, .setups = world.fleet.setups, .places = {}};
  for (std::size_t gpu = 0; gpu < world.fleet.gpus; ++gpu)
    instance.places.push_back({.device = gpu, .setup = 0, .memory = Bytes::rounded(80e9)});
  const auto policy = exclusive_policy(instance);
  return simulate(instance, rates, {rates}, *policy).makespan;
}

/// The best of all layouts, each looked at whole; nothing where that was too much.
std::optional<double> exhaustive(const TestWorld& world, Rates& rates, double known) {
  const Fleet& fleet = world.fleet;
  double best = known;
  std::vector<std::size_t> layouts(fleet.gpus, 0);
  while (true) {
    Instance instance{.kinds = world.kinds, .jobs = world.jobs, .setups = fleet.setups, .places = {}};
    for (std::size_t gpu = 0; gpu < fleet.gpus; ++gpu)
      for (const Layout::Part& part : fleet.layouts[layouts[gpu]].parts)
        instance.places.push_back({.device = gpu, .setup = part.setup, .memory = part.memory});
    const Exact exact = exact_makespan(instance, rates, most_combined(instance, rates, 8), best, 1'000'000);
    if (!exact.proven) return std::nullopt;
    best = std::min(best, exact.makespan);
    std::size_t digit = 0;
    while (digit < layouts.size() && ++layouts[digit] == fleet.layouts.size()) layouts[digit++] = 0;
    if (digit == layouts.size()) return best;
  }
}

TEST(Planner, IsNearTheBestOfAllPlans) {
  double sum = 0, worst = 1;
  int compared = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const TestWorld world = random_world(seed, 8, 2);
    Rates rates = world.known();
    const auto plan = make_plan(world.kinds, world.jobs, world.fleet, rates, {});
    ASSERT_TRUE(plan) << plan.error().text();
    const double found = plan->outcome.makespan;
    EXPECT_LE(found, first_in_first_out(world, rates) * (1 + 1e-9)) << seed;
    EXPECT_GE(found, plan->bound.seconds() * (1 - 1e-9)) << seed;
    const auto best = exhaustive(world, rates, found);
    if (!best) continue;
    ++compared;
    sum += found / *best;
    worst = std::max(worst, found / *best);
  }
  EXPECT_GE(compared, 25);
  RecordProperty("mean_ratio", fmt::format("{:.4f}", sum / compared));
  RecordProperty("worst_ratio", fmt::format("{:.4f}", worst));
  EXPECT_LE(sum / compared, 1.05);
  EXPECT_LE(worst, 1.15);
}

TEST(Planner, PlansAreTheSameHoweverManyThreadsAsk) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const TestWorld world = random_world(seed, 12, 3);
    Instance instance{
        .kinds = world.kinds, .jobs = world.jobs, .setups = {{.way = share::Way::mps}}, .places = {}};
    for (std::size_t i = 0; i < world.fleet.gpus; ++i)
      instance.places.push_back({.name = "GPU", .device = i, .memory = 80 * kGiB});
    for (Job& job : instance.jobs) job.startup = 2.0 * static_cast<double>(seed % 3);
    const auto ask = [&](std::span<const std::uint32_t> group, std::size_t) {
      return world.rates(group, world.fleet.setups.size() - 1);
    };
    std::vector<double> ends;
    for (const std::size_t at_once : {1, 4}) {
      Rates rates(ask, at_once);
      const auto policy = plimsoll_policy(instance);
      const Outcome outcome = simulate(instance, rates, {rates}, *policy);
      EXPECT_GT(outcome.makespan, 0);
      for (const Ran& ran : outcome.jobs) ends.push_back(ran.end);
    }
    const auto half = ends.begin() + static_cast<std::ptrdiff_t>(ends.size() / 2);
    EXPECT_TRUE(std::equal(ends.begin(), half, half)) << seed;
  }
}

TEST(Planner, NeverPutsTogetherWhatDoesNotFit) {
  for (std::uint64_t seed = 100; seed < 130; ++seed) {
    const TestWorld world = random_world(seed, 20, 4);
    Rates rates = world.known();
    const auto plan = make_plan(world.kinds, world.jobs, world.fleet, rates, {}, {.looks = 200});
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->outcome.out_of_memory, 0);
    for (std::size_t place = 0; place < plan->instance.places.size(); ++place)
      for (const Ran& at : plan->outcome.jobs) {  // at each start
        Bytes taken;
        for (std::size_t job = 0; job < world.jobs.size(); ++job) {
          const Ran& ran = plan->outcome.jobs[job];
          if (ran.places.front() == place && ran.start <= at.start && at.start < ran.end)
            taken += *world.kinds[world.jobs[job].kind].memory;
        }
        EXPECT_LE(taken.count(), plan->instance.places[place].memory.count()) << seed;
      }
    for (std::size_t job = 0; job < world.jobs.size(); ++job)
      EXPECT_GE(plan->outcome.jobs[job].start, world.jobs[job].arrival);
  }
}

TestWorld two_jobs() {
  TestWorld world = random_world(3, 2, 1);
  world.fleet.gpus = 1;
  world.kinds = {{.name = "small", .share = 0.2, .memory = Bytes::rounded(1e9)}};
  world.conflicts = {{0.05}};
  world.jobs = {{.name = "a", .seconds = 10}, {.name = "b", .seconds = 10}};
  return world;
}

TEST(Planner, KeepsApartWhatMustNotBeTogether) {
  TestWorld world = two_jobs();
  Rates rates = world.known();
  const auto together = make_plan(world.kinds, world.jobs, world.fleet, rates, {});
  ASSERT_TRUE(together);
  EXPECT_LT(together->outcome.makespan, 11);
  EXPECT_TRUE(together->optimal);
  world.jobs[0].apart = {1};
  const auto apart = make_plan(world.kinds, world.jobs, world.fleet, rates, {});
  ASSERT_TRUE(apart);
  const auto& jobs = apart->outcome.jobs;
  EXPECT_TRUE(jobs[0].places != jobs[1].places || jobs[0].end <= jobs[1].start ||
              jobs[1].end <= jobs[0].start);
}

TEST(Planner, OneWhoseMemoryNobodyKnowsRunsAlone) {
  TestWorld world = two_jobs();
  world.kinds.push_back({.name = "unknown", .share = 0.2});
  world.conflicts = {{0.05, 0.05}, {0.05, 0.05}};
  world.jobs[1].kind = 1;
  world.fleet.layouts = {{"mps", {{2, Bytes::rounded(80e9)}}}};
  Rates rates = world.known();
  const auto plan = make_plan(world.kinds, world.jobs, world.fleet, rates, {});
  ASSERT_TRUE(plan);
  EXPECT_NEAR(plan->outcome.makespan, 20, 1e-6);
}

TEST(Planner, SaysWhyThereIsNoPlan) {
  TestWorld world = two_jobs();
  world.kinds[0].memory = Bytes::rounded(1e12);
  Rates rates = world.known();
  auto plan = make_plan(world.kinds, world.jobs, world.fleet, rates, {});
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error().text(), HasSubstr("a needs 931 GiB where 74.5 GiB is the most; b needs"));
  world = two_jobs();
  world.jobs[0].after = {1};
  world.jobs[1].after = {0};
  plan = make_plan(world.kinds, world.jobs, world.fleet, rates, {});
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error().text(), HasSubstr("a waits for itself, by way of `after`; b waits"));
  world = two_jobs();
  world.jobs[0].deadline = 5;
  plan = make_plan(world.kinds, world.jobs, world.fleet, rates, {});
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error().text(), HasSubstr("a cannot end by 5 s: alone it takes 10 s"));
  world = two_jobs();
  world.jobs[0].gpus = 3;
  plan = make_plan(world.kinds, world.jobs, world.fleet, rates, {});
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error().text(), HasSubstr("a wants 3 GPUs of 1"));
}

TEST(Planner, KeepsOrdersAndSeveralGpus) {
  TestWorld world = two_jobs();
  world.fleet.gpus = 2;
  world.jobs.push_back({.name = "c", .seconds = 5, .gpus = 2});
  world.jobs[1].after = {2};
  Rates rates = world.known();
  const auto plan = make_plan(world.kinds, world.jobs, world.fleet, rates, {});
  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_EQ(plan->outcome.jobs[2].places.size(), 2u);
  EXPECT_GE(plan->outcome.jobs[1].start, plan->outcome.jobs[2].end - 1e-9);
}

TEST(Planner, TellsThoseInACircleFromThoseThatWaitForIt) {
  TestWorld world = two_jobs();
  world.jobs.push_back({.name = "c", .seconds = 5, .after = {1}});
  world.jobs.push_back({.name = "d", .seconds = 5, .deadline = 12, .after = {4}});
  world.jobs.push_back({.name = "e", .seconds = 8});
  world.jobs[0].after = {1};
  world.jobs[1].after = {0};
  Rates rates = world.known();
  const auto plan = make_plan(world.kinds, world.jobs, world.fleet, rates, {});
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error().text(),
              HasSubstr("b waits for itself, by way of `after`; c waits for one that waits"));
  EXPECT_THAT(plan.error().text(),
              HasSubstr("d cannot end by 12 s: with those that it waits for it takes until 13 s"));
}

TEST(Planner, AServiceIsThereFromTheStart) {
  TestWorld world = two_jobs();
  world.kinds.push_back({.name = "service", .share = 0.1, .memory = Bytes::rounded(1e9), .serves = true});
  world.conflicts = {{0.05, 0.6}, {0.05, 0.05}};  // it would pay to let it wait
  world.jobs.push_back({.name = "s", .kind = 1});
  Rates rates = world.known();
  for (const bool by_pairs : {false, true}) {
    const auto plan = make_plan(world.kinds, world.jobs, world.fleet, rates, {}, {.by_pairs = by_pairs});
    ASSERT_TRUE(plan) << plan.error().text();
    EXPECT_EQ(plan->outcome.jobs[2].start, 0) << by_pairs;
    EXPECT_GE(plan->outcome.makespan, plan->bound.seconds() * (1 - 1e-9)) << by_pairs;
  }
}

TEST(Planner, AServiceThatMissesItsLimitIsNoPlan) {
  TestWorld world = two_jobs();
  world.kinds.push_back({.name = "service", .share = 0.1, .memory = Bytes::rounded(1e9), .serves = true});
  world.conflicts = {{0.05, 0.05}, {0.05, 0.05}};
  world.jobs.push_back({.name = "s", .kind = 1});
  /// `most`: in a group with it.
  const auto planned = [&](std::size_t most) {
    Rates rates([&world, most](std::span<const std::uint32_t> group, std::size_t setup) {
      GroupRates out = world.rates(group, setup);
      out.allowed = group.size() <= most || std::ranges::find(group, 1U) == group.end();
      return out;
    });
    return make_plan(world.kinds, world.jobs, world.fleet, rates, {});
  };
  const auto never = planned(0);
  ASSERT_FALSE(never);
  EXPECT_THAT(never.error().text(), HasSubstr("with a GPU to itself the limit is missed by s"));
  world.fleet.layouts = {{"mps", {{2, Bytes::rounded(80e9)}}}};
  const auto blocked = planned(1);  // the service has the GPU for ever
  ASSERT_FALSE(blocked);
  EXPECT_THAT(blocked.error().text(), HasSubstr("there is no plan"));
  world.fleet.gpus = 2;
  const auto apart = planned(1);
  ASSERT_TRUE(apart) << apart.error().text();
  EXPECT_NE(apart->outcome.jobs[2].places, apart->outcome.jobs[0].places);
}

TEST(Planner, ByPairsIsNearlyAsGood) {
  double sum = 0;
  for (std::uint64_t seed = 200; seed < 210; ++seed) {
    const TestWorld world = random_world(seed, 12, 2);
    Rates rates = world.known();
    const auto whole = make_plan(world.kinds, world.jobs, world.fleet, rates, {}, {.looks = 200});
    const auto pairs =
        make_plan(world.kinds, world.jobs, world.fleet, rates, {}, {.looks = 200, .by_pairs = true});
    ASSERT_TRUE(whole && pairs);
    sum += pairs->outcome.makespan / whole->outcome.makespan;
  }
  EXPECT_LE(sum / 10, 1.05);
}

TEST(Planner, SlicesTakeSeveralOnlyUnderMps) {
  TestWorld world = two_jobs();
  const Bytes half = Bytes::rounded(40e9);
  world.fleet.setups.push_back({.way = share::Way::mig, .profile = "half", .clients = true});
  const std::size_t clients = world.fleet.setups.size() - 1;
  for (int i = 0; i < 2; ++i) world.jobs.push_back({.name = fmt::format("more {}", i), .seconds = 10});
  world.fleet.layouts = {{"mig:half,half", {{4, half}, {4, half}}}};
  Rates rates = world.known();
  const auto one_each = make_plan(world.kinds, world.jobs, world.fleet, rates, {});
  world.fleet.layouts.push_back({"mig+mps:half,half", {{clients, half}, {clients, half}}});
  const auto several = make_plan(world.kinds, world.jobs, world.fleet, rates, {});
  ASSERT_TRUE(one_each && several);
  EXPECT_NEAR(one_each->outcome.makespan, 20, 1e-6);
  EXPECT_NEAR(several->outcome.makespan, 10, 1e-6);
  EXPECT_EQ(several->layouts.front(), "mig+mps:half,half");
  // A daemon of MPS serves one user, in a slice, too, and what does not fit a slice together is not put
  // there.
  for (std::size_t job = 0; job < world.jobs.size(); ++job) world.jobs[job].user = fmt::format("u{}", job);
  const auto users = make_plan(world.kinds, world.jobs, world.fleet, rates, {});
  ASSERT_TRUE(users);
  EXPECT_NEAR(users->outcome.makespan, 20, 1e-6);
  for (Job& job : world.jobs) job.user = "";
  world.kinds.front().memory = Bytes::rounded(25e9);
  const auto large = make_plan(world.kinds, world.jobs, world.fleet, rates, {});
  ASSERT_TRUE(large);
  EXPECT_NEAR(large->outcome.makespan, 20, 1e-6);
}

TEST(Planner, WhatIsCutStaysCutAndOneJobsGpusAreInOneMachine) {
  TestWorld world = two_jobs();
  world.fleet.gpus = 4;
  world.fleet.slots = {{.name = "a/0", .host = 0, .layouts = {4}},
                       {.name = "a/1", .host = 0, .layouts = {0, 1, 2, 3, 4}},
                       {.name = "b/0", .host = 1, .layouts = {2}},
                       {.name = "b/1", .host = 1, .layouts = {2}}};
  world.jobs.push_back({.name = "c", .seconds = 5, .gpus = 2});
  Rates rates = world.known();
  const auto plan = make_plan(world.kinds, world.jobs, world.fleet, rates, {}, {.looks = 100});
  ASSERT_TRUE(plan) << plan.error().text();
  EXPECT_EQ(plan->layouts[0], "halves");
  EXPECT_EQ(plan->layouts[2], "mps");
  const auto& places = plan->outcome.jobs[2].places;
  ASSERT_EQ(places.size(), 2u);
  EXPECT_EQ(plan->instance.places[places[0]].host, plan->instance.places[places[1]].host);
}

}  // namespace
}  // namespace plimsoll::plan::schedule
