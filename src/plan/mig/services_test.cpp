#include "plan/mig/services.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.hpp"
#include "plan/mig/layouts.hpp"
#include "plan/mig/service_files.hpp"
#include "plan/mig/test_placement_rules.hpp"

namespace plimsoll::plan {
namespace {

using hardware::MigTable;
using testing::HasSubstr;
using testing::SizeIs;

/// Every placement stands by NVIDIA's table, every rate is met, and every segment is a row of the profiles
/// that holds its service's limit.
void check_plan(const MigTable& table, const std::vector<ServedProfile>& profiles,
                const std::vector<Service>& services, const ServicePlan& plan, double share) {
  std::vector<double> rates(services.size());
  for (const ServedGpu& gpu : plan.gpus) {
    std::vector<hardware::MigPlacement> layout;
    EXPECT_FALSE(gpu.empty());
    for (const PlacedSegment& segment : gpu) {
      layout.push_back(segment.placement);
      const Service& service = services.at(segment.service);
      EXPECT_LT(segment.latency.value(), share * service.limit.value()) << service.name;
      const int compute = table.profiles[segment.placement.profile].name[0] - '0';
      EXPECT_EQ(std::ranges::count(profiles, ServedProfile{service.model, compute, segment.batch,
                                                           segment.processes, segment.rate, segment.latency}),
                1)
          << service.name;
      rates.at(segment.service) += segment.rate;
    }
    EXPECT_TRUE(stands_by_nvidias_table(table, layout));
  }
  for (std::size_t i = 0; i < services.size(); ++i) EXPECT_GE(rates[i], services[i].rate) << services[i].name;
  EXPECT_GE(plan.gpus.size(), plan.bound);
}

TEST(PlanServices, NeedsTheFewestGpusInSixPublishedScenarios) {
  const char* given = std::getenv("PLIMSOLL_SHARED");
  const std::string shared = given != nullptr ? given : PLIMSOLL_SOURCE_DIR "/../shared";
  const auto rows = read_file(shared + "/data/public/parvagpu_profiles.csv", kLargestServiceFile);
  const auto asked = read_file(shared + "/data/public/parvagpu_slo.csv", kLargestServiceFile);
  if (!rows || !asked) GTEST_SKIP() << "no measurements at " << shared << " (set PLIMSOLL_SHARED)";
  const auto profiles = parse_served_profiles(*rows);
  const auto scenarios = parse_services(*asked);
  ASSERT_TRUE(profiles && scenarios);
  ASSERT_THAT(*scenarios, SizeIs(6));
  ASSERT_THAT(*profiles, SizeIs(1));
  const std::vector<std::size_t> fewest = {2, 3, 5, 7, 12, 15};
  const MigTable& table = mig_family("a100-80");
  for (std::size_t i = 0; i < fewest.size(); ++i) {
    const Scenario& scenario = (*scenarios)[i];
    const auto plan = plan_services(table, profiles->front().rows, scenario.services);
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->gpus.size(), fewest[i]) << scenario.name;
    EXPECT_EQ(plan->bound, fewest[i]);
    EXPECT_TRUE(plan->proven());
    check_plan(table, profiles->front().rows, scenario.services, *plan, 0.45);
  }
}

/// Rates that grow with the slices, not quite in proportion.
std::vector<ServedProfile> made_up_profiles(const MigTable& table, std::mt19937& random, int models) {
  std::vector<ServedProfile> out;
  const auto draw = [&](int low, int high) { return std::uniform_int_distribution(low, high)(random); };
  for (int model = 0; model < models; ++model)
    for (const int compute : {1, 2, 3, 4, 7}) {
      if (!table.of_compute(compute) || draw(0, 5) == 0) continue;
      for (const int batch : {1, 8})
        out.push_back({.model = "model " + std::to_string(model),
                       .compute = compute,
                       .batch = batch,
                       .processes = draw(1, 3),
                       .rate = static_cast<double>(compute * (80 + draw(0, 40)) + batch),
                       .latency = Seconds(0.001 * batch * draw(1, 20))});
    }
  return out;
}

TEST(PlanServices, WhateverIsAskedThePlanHolds) {
  std::mt19937 random(7);
  int planned = 0;
  for (const MigTable& table : hardware::mig_tables())
    for (int round = 0; round < 6; ++round) {
      const auto profiles = made_up_profiles(table, random, 5);
      std::vector<Service> services;
      for (int i = 0; i < 6; ++i)
        services.push_back({.name = "service " + std::to_string(i),
                            .model = "model " + std::to_string(i % 5),
                            .rate = static_cast<double>(std::uniform_int_distribution(1, 3000)(random)),
                            .limit = Seconds(0.4)});
      const auto plan = plan_services(table, profiles, services);
      if (!plan) continue;  // a model without any row
      ++planned;
      check_plan(table, profiles, services, *plan, 0.45);
    }
  EXPECT_GT(planned, 10);
}

using Totals = std::vector<int>;  ///< instances of each profile of a table

/// The fewest GPUs for so many instances: every layout is tried for every GPU.
std::size_t fewest_by_trying(const std::vector<ProfileCounts>& layouts, const Totals& left,
                             std::map<Totals, std::size_t>& known) {
  if (std::ranges::all_of(left, [](int n) { return n == 0; })) return 0;
  if (const auto found = known.find(left); found != known.end()) return found->second;
  std::size_t best = 1000;
  for (const ProfileCounts& layout : layouts) {
    Totals rest = left;
    for (std::size_t i = 0; i < rest.size(); ++i) rest[i] -= std::min(rest[i], layout[i]);
    if (rest != left) best = std::min(best, 1 + fewest_by_trying(layouts, rest, known));
  }
  return known[left] = best;
}

/// Every choice of instances that carries a rate and no instance more than it takes of one size alone.
void all_choices(const MigTable& table, const std::vector<ServedProfile>& rows, std::size_t at, double rate,
                 Totals& counts, std::vector<Totals>& out) {
  if (rate <= 0) return out.push_back(counts);
  if (at == rows.size()) return;
  int& count = counts[table.of_compute(rows[at].compute).value()];
  for (int n = 0; n == 0 || rate > (n - 1) * rows[at].rate; ++n) {
    count = n;
    all_choices(table, rows, at + 1, rate - n * rows[at].rate, counts, out);
  }
  count = 0;
}

TEST(PlanServices, WhatIsProvenCannotBeUndercut) {
  std::mt19937 random(11);
  const auto draw = [&](int low, int high) { return std::uniform_int_distribution(low, high)(random); };
  int above = 0;
  for (int round = 0; round < 60; ++round) {
    const MigTable& table = mig_family(round % 3 == 0 ? "a30" : "a100-80");
    const auto layouts = multisets_of(table, maximal_layouts(table, ordinary_profiles(table, false)));
    std::vector<ServedProfile> rows;
    std::vector<Service> services;
    std::vector<Totals> sums = {Totals(table.profiles.size())};
    for (const char* model : {"a", "b", "c"}) {
      std::vector<ServedProfile> own;
      for (const int compute : {1, 2, 3, 4, 7})
        if (table.of_compute(compute) && draw(0, 2) == 0)
          own.push_back({model, compute, 1, 1, compute * 100.0 + draw(-40, 40), Seconds(0.01)});
      if (own.empty()) continue;
      services.push_back({model, model, static_cast<double>(draw(50, 1400)), Seconds(0.1)});
      std::vector<Totals> choices, next;
      Totals counts(table.profiles.size());
      all_choices(table, own, 0, services.back().rate, counts, choices);
      for (const Totals& sum : sums)
        for (const Totals& choice : choices) {
          next.push_back(sum);
          std::ranges::transform(sum, choice, next.back().begin(), std::plus());
        }
      std::ranges::sort(next);
      next.erase(std::ranges::unique(next).begin(), next.end());
      sums = std::move(next);
      rows.insert(rows.end(), own.begin(), own.end());
    }
    if (services.empty()) continue;
    std::map<Totals, std::size_t> known;
    std::size_t fewest = 1000;
    for (const Totals& sum : sums) fewest = std::min(fewest, fewest_by_trying(layouts, sum, known));
    const auto plan = plan_services(table, rows, services);
    ASSERT_TRUE(plan);
    check_plan(table, rows, services, *plan, 0.45);
    EXPECT_TRUE(plan->proven()) << "so small a question is answered for certain";
    EXPECT_EQ(plan->gpus.size(), fewest);
    above += plan->gpus.size() > plan->bound ? 1 : 0;
  }
  EXPECT_GT(above, 0) << "no question was asked whose bound is too low";
}

TEST(PlanServices, HugeRatesArePlannedNearTheBound) {
  const MigTable& table = mig_family("h200");
  const std::vector<ServedProfile> profiles = {{"net", 3, 8, 1, 300, Seconds(0.01)},
                                               {"net", 4, 8, 1, 380, Seconds(0.01)},
                                               {"net", 1, 8, 1, 90, Seconds(0.01)}};
  const std::vector<Service> services = {{"large", "net", 1e6, Seconds(0.1)},
                                         {"small", "net", 100, Seconds(0.1)}};
  const auto plan = plan_services(table, profiles, services);
  ASSERT_TRUE(plan);
  check_plan(table, profiles, services, *plan, 0.45);
  EXPECT_LE(static_cast<double>(plan->gpus.size()), 1.04 * static_cast<double>(plan->bound));
}

TEST(PlanServices, AllThatCannotBeHadIsTold) {
  const MigTable& table = mig_family("a30");
  const std::vector<ServedProfile> profiles = {{"net", 1, 1, 1, 100, Seconds(0.05)}};
  const std::vector<Service> services = {{"quick", "net", 10, Seconds(0.1)},
                                         {"fine", "net", 10, Seconds(0.2)},
                                         {"other", "none", 10, Seconds(0.2)}};
  const auto plan = plan_services(table, profiles, services);
  ASSERT_FALSE(plan);
  ASSERT_THAT(plan.error(), SizeIs(2));
  EXPECT_THAT(plan.error()[0].text(), HasSubstr("the quickest takes 50.0 ms"));
  EXPECT_THAT(plan.error()[1].text(), HasSubstr("no profile of"));
  const std::vector<Service> endless = {{"endless", "net", 1e15, Seconds(0.2)}};
  EXPECT_THAT(plan_services(table, profiles, endless).error().front().text(), HasSubstr("more than"));
}

TEST(PlanServices, AnAnswerAboveTheBoundIsProvenByTryingAll) {
  const MigTable& table = mig_family("a100-80");
  const std::vector<ServedProfile> profiles = {{"net", 4, 1, 1, 100, Seconds(0.01)}};
  const std::vector<Service> services = {{"a", "net", 100, Seconds(0.1)}, {"b", "net", 100, Seconds(0.1)}};
  const auto plan = plan_services(table, profiles, services);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->gpus.size(), 2U);
  EXPECT_EQ(plan->bound, 2U);
  const std::vector<ServedProfile> halves = {{"net", 4, 1, 1, 100, Seconds(0.01)},
                                             {"other", 2, 1, 1, 100, Seconds(0.01)}};
  const std::vector<Service> mixed = {{"a", "other", 300, Seconds(0.1)}, {"b", "net", 200, Seconds(0.1)}};
  const auto proven = plan_services(table, halves, mixed);
  ASSERT_TRUE(proven);
  EXPECT_EQ(proven->gpus.size(), 3U) << "beside 4g there is room for one 2g";
  EXPECT_EQ(proven->bound, 2U);
  EXPECT_TRUE(proven->proven());
}

}  // namespace
}  // namespace plimsoll::plan
