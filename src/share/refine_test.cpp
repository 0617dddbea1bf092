#include "share/refine.hpp"

#include <gtest/gtest.h>

#include "share/test_workloads.hpp"

namespace plimsoll::share {
namespace {

/// Groups as they would run on a GPU with these figures.
std::vector<Observation> observed_with(const SharingFigures& truth, std::size_t groups) {
  const hardware::Device device = device_named("h200");
  std::vector<Observation> out;
  for (std::size_t i = 0; i < groups; ++i) {
    Observation one{
        .workloads = {captured("a", kernels_alike(40 + 10 * i, 100, 2, estimate::Bottleneck::memory)),
                      captured("b", kernels_alike(60, 50 + 20.0 * static_cast<double>(i), 0.5))},
        .sharing = {.way = i % 2 == 0 ? Way::mps : Way::naive},
        .speeds = {}};
    for (Workload& workload : one.workloads)
      for (Kernel& kernel : workload.kernels) kernel.bandwidth = 0.4F;
    const std::vector<const Workload*> both = {one.workloads.data(), one.workloads.data() + 1};
    const auto told = beside(both, device, one.sharing, truth, {.enough = 0.005});
    for (const Member& member : told->members) one.speeds.push_back(member.speed);
    out.push_back(std::move(one));
  }
  return out;
}

TEST(Refine, FindsWhatAGpuDoesOtherwise) {
  SharingFigures truth;
  truth.crowding_memory *= 2.5;
  truth.crowding_compute *= 2.5;
  truth.crowding_launch *= 2.5;
  truth.change *= 3;
  const auto found = refine(observed_with(truth, 8), device_named("h200"), SharingFigures());
  ASSERT_TRUE(found) << found.error().text();
  EXPECT_EQ(found->groups, 8u);
  EXPECT_TRUE(found->is_better());
  EXPECT_LT(found->after, found->before / 2);
  EXPECT_GT(found->figures.crowding_memory, 1.3 * SharingFigures().crowding_memory);
  EXPECT_GT(found->figures.change, 1.5 * SharingFigures().change);
  EXPECT_EQ(found->figures.cap_compute, SharingFigures().cap_compute);  // no group had caps
  EXPECT_EQ(found->figures.provenance, Provenance::measured);
}

TEST(Refine, LeavesFiguresThatAreRight) {
  const auto found = refine(observed_with(SharingFigures(), 6), device_named("h200"), SharingFigures());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->figures.slice, SharingFigures().slice);
  EXPECT_LT(found->before, 0.05);
  EXPECT_EQ(found->figures.crowding_memory, SharingFigures().crowding_memory);
}

TEST(Refine, NeedsSomeToLeaveOut) {
  const auto found = refine(observed_with(SharingFigures(), 3), device_named("h200"), SharingFigures());
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().text().find("3 groups"), std::string::npos);
}

}  // namespace
}  // namespace plimsoll::share
