#include "share/mig.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "share/choice.hpp"
#include "share/test_workloads.hpp"

namespace plimsoll::share {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Result<std::vector<Slice>> placed(const std::string& device, const std::vector<std::string>& profiles) {
  return slices_of(profiles, device_named(device));
}

TEST(Slices, ArePlacedWhereNvidiasTableHasThem) {
  const auto both = placed("h200", {"3g.71gb", "4g.71gb"});
  ASSERT_TRUE(both);
  EXPECT_EQ((*both)[0].start, 4) << "the other can only start at 0";
  EXPECT_EQ((*both)[1].start, 0);
  EXPECT_NEAR((*both)[0].sms, 60.0 / 132, 1e-9);
  EXPECT_EQ((*both)[0].bandwidth, 0.5);
  EXPECT_TRUE(placed("h200", std::vector<std::string>(7, "1g.18gb")));
  EXPECT_TRUE(placed("a100-40-sxm", {"2g.10gb", "2g.10gb", "3g.20gb"}));
}

TEST(Slices, ThatDoNotGoTogetherAreRefused) {
  EXPECT_FALSE(placed("h200", {"4g.71gb", "4g.71gb"}));
  EXPECT_FALSE(placed("h200", std::vector<std::string>(8, "1g.18gb")));
  EXPECT_FALSE(placed("h200", {"3g.71gb", "3g.71gb", "1g.18gb"})) << "3g and 3g take all of the memory";
  EXPECT_FALSE(placed("h200", {"7g.141gb", "1g.18gb"}));
}

TEST(Slices, OfAnotherDeviceAreNamed) {
  const auto wrong = placed("h200", {"3g.20gb"});
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().hint, HasSubstr("3g.71gb"));
  EXPECT_THAT(placed("t4", {"1g.5gb"}).error().message, HasSubstr("no MIG profiles"));
}

TEST(Slices, ProfilesAreTheDevicesOwn) {
  EXPECT_THAT(profiles_of(device_named("a100-40-sxm")),
              ElementsAre("1g.5gb", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"));
  EXPECT_TRUE(profiles_of(device_named("t4")).empty());
}

TEST(InSlice, ComputeFollowsTheSmsMemoryLess) {
  const SharingFigures figures = sharing_figures(device_named("h200"));
  const Slice half{.profile = "half", .sms = 0.5, .bandwidth = 0.5};
  const Workload compute = captured("compute", kernels_alike(10, 100, 4));
  const Workload memory = captured("memory", kernels_alike(10, 100, 4, estimate::Bottleneck::memory));
  EXPECT_NEAR(in_slice(compute, half, figures).speed, 0.56, 0.03);
  EXPECT_NEAR(in_slice(memory, half, figures).speed, 0.62, 0.04);
}

Result<Beside> in_one(const std::vector<Workload>& workloads, const std::string& sharing) {
  std::vector<const Workload*> all;
  for (const Workload& workload : workloads) all.push_back(&workload);
  const hardware::Device device = device_named("h200");
  return beside(all, device, *read_sharing(sharing, all.size()), sharing_figures(device));
}

TEST(InOneSlice, ThoseThatFillItShareItsSpeed) {
  const Workload full = captured("full", kernels_alike(10, 100, 4));
  const auto alone = in_one({full}, "mig:4g.71gb"), both = in_one({full, full}, "mig+mps:4g.71gb");
  ASSERT_TRUE(alone && both);
  EXPECT_NEAR(both->combined, alone->combined, 0.12 * alone->combined);
  EXPECT_NEAR(both->members[0].speed, both->members[1].speed, 0.05);
  EXPECT_EQ(both->members[0].capacity, alone->members[0].capacity);
}

TEST(InOneSlice, ThoseThatLeaveRoomDoMoreTogether) {
  // A tenth of the GPU's blocks each: of the slice's, under a quarter.
  const Workload small = captured("small", kernels_alike(10, 100, 0.1));
  const auto alone = in_one({small}, "mig:4g.71gb"), both = in_one({small, small}, "mig+mps:4g.71gb");
  ASSERT_TRUE(alone && both);
  EXPECT_GT(both->combined, 1.7 * alone->combined);
  // What fits the whole GPU and not the slice waits there.
  const Workload half = captured("half", kernels_alike(10, 100, 0.5));
  const auto whole = in_one({half, half}, "mps"), slice = in_one({half, half}, "mig+mps:3g.71gb");
  ASSERT_TRUE(whole && slice);
  EXPECT_LT(slice->combined, 0.75 * whole->combined);
}

TEST(InOneSlice, MustHoldAllOfThem) {
  Workload large = captured("large", kernels_alike(10, 100, 0.1));
  large.memory = 40 * kGiB;
  const auto both = in_one({large, large}, "mig+mps:4g.71gb");
  ASSERT_TRUE(both);
  const std::vector<const Workload*> all = {&large, &large};
  EXPECT_FALSE(has_room(*both, all, device_named("h200")));
  large.memory = 30 * kGiB;
  EXPECT_TRUE(has_room(*both, all, device_named("h200")));
}

}  // namespace
}  // namespace plimsoll::share
