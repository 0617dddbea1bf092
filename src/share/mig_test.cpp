#include "share/mig.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace plimsoll::share
