#include "plan/mig/services.hpp"

#include <algorithm>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.hpp"
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

TEST(PlanServices, HugeRatesHaveGpusOfTheirOwn) {
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
