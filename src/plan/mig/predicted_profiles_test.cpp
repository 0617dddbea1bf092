#include "plan/mig/predicted_profiles.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "share/test_workloads.hpp"

namespace plimsoll::plan {
namespace {

using share::captured;
using share::kernels_alike;
using testing::HasSubstr;

/// Serves by kernels alike, `waves` of blocks each.
BatchedModel model(int batch, double microseconds, double waves, Bytes memory = kGiB) {
  BatchedModel out{"net", batch, captured("net", kernels_alike(20, microseconds, waves))};
  out.workload.memory_high = memory;
  return out;
}

PredictedProfiles told(const std::vector<BatchedModel>& models, double limit_ms) {
  const hardware::Device device = share::device_named("h200");
  const std::vector<Service> services = {{"net", "net", 100, Seconds(limit_ms * 1e-3)}};
  return predicted_profiles(*hardware::mig_table(device), device, models, services, kBatchShareOfLimit, 3,
                            share::sharing_figures(device));
}

const ServedProfile* row(const PredictedProfiles& told, int compute, int batch, int processes) {
  for (const ServedProfile& one : told.rows)
    if (one.compute == compute && one.batch == batch && one.processes == processes) return &one;
  return nullptr;
}

TEST(PredictedProfiles, LargerInstancesCarryMoreOfWhatFillsThem) {
  const PredictedProfiles all = told({model(8, 200, 4)}, 1000);
  const ServedProfile *small = row(all, 1, 8, 1), *large = row(all, 7, 8, 1);
  ASSERT_TRUE(small && large);
  EXPECT_GT(large->rate, 3 * small->rate);
  EXPECT_LT(large->latency, small->latency);
  // Whole GPU: 20 kernels of 200 us for eight requests.
  EXPECT_NEAR(large->rate, 8 / 4e-3, 0.05 * 8 / 4e-3);
  EXPECT_EQ(row(all, 7, 8, 2), nullptr) << "a second process adds nothing to what is full";
  EXPECT_LT(all.low, 1);
  EXPECT_GE(all.high, 1);
}

TEST(PredictedProfiles, ProcessesFillWhatOneLeaves) {
  const PredictedProfiles all = told({model(1, 100, 0.05)}, 1000);
  const ServedProfile *one = row(all, 7, 1, 1), *three = row(all, 7, 1, 3);
  ASSERT_TRUE(one && three);
  EXPECT_GT(three->rate, 2 * one->rate);
  EXPECT_GE(three->latency, one->latency);
}

TEST(PredictedProfiles, MemoryAndLimitsBind) {
  // Of an H200's smallest instance, 16 GiB, and of its whole, 140 GiB.
  const PredictedProfiles large = told({model(1, 100, 0.05, 60 * kGiB)}, 1000);
  EXPECT_EQ(row(large, 1, 1, 1), nullptr);
  EXPECT_NE(row(large, 7, 1, 2), nullptr);
  EXPECT_EQ(row(large, 7, 1, 3), nullptr);
  // 20 ms of which 45 % are for the batch; it takes 20 in the whole GPU.
  const PredictedProfiles slow = told({model(1, 1000, 4)}, 20);
  const hardware::Device device = share::device_named("h200");
  const std::vector<Service> services = {{"net", "net", 100, Seconds(20e-3)}};
  const auto plan = plan_services(*hardware::mig_table(device), slow.rows, services);
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error().front().text(), HasSubstr("no batch takes less than 9"));
}

TEST(PredictedProfiles, PlansHoldRatesLimitsAndPlacements) {
  const hardware::Device device = share::device_named("h200");
  const hardware::MigTable& table = *hardware::mig_table(device);
  for (const double rate : {50.0, 900.0, 5000.0}) {
    const PredictedProfiles rows = told({model(1, 80, 0.1), model(8, 200, 0.7)}, 60);
    const std::vector<Service> services = {{"net", "net", rate, Seconds(60e-3)}};
    const auto plan = plan_services(table, rows.rows, services);
    ASSERT_TRUE(plan);
    double carried = 0;
    for (const ServedGpu& gpu : plan->gpus) {
      std::vector<hardware::MigPlacement> placed;
      for (const PlacedSegment& segment : gpu) {
        placed.push_back(segment.placement);
        carried += segment.rate;
        EXPECT_LT(segment.latency, Seconds(60e-3 * kBatchShareOfLimit));
      }
      EXPECT_EQ(hardware::mig_conflict(table, placed), std::nullopt);
    }
    EXPECT_GE(carried, rate);
  }
}

}  // namespace
}  // namespace plimsoll::plan
