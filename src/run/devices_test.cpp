#include "run/devices.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nvml/fake.hpp"

namespace plimsoll::running {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

nvml::FakeLibrary two_gpus() {
  return nvml::FakeLibrary(std::vector<nvml::FakeDevice>{{.name = "H200", .uuid = "GPU-aa11"},
                                                         {.name = "H200", .uuid = "GPU-ab22"}});
}

TEST(Devices, AreNamedByNumberOrUuid) {
  const auto nvml = two_gpus();
  const auto chosen = choose_devices(&nvml, {"1", "GPU-aa"});
  ASSERT_TRUE(chosen) << chosen.error().text();
  EXPECT_EQ(chosen->at(0).uuid, "GPU-ab22");
  EXPECT_EQ(chosen->at(1).number, 0U);
  for (const char* wrong : {"2", "GPU-a", "GPU-zz", "", "-1", "0x1", "MIG-77", "0:1"}) {
    const auto refused = choose_devices(&nvml, {wrong});
    ASSERT_FALSE(refused) << wrong;
  }
  EXPECT_THAT(choose_devices(nullptr, {"0"}).error().text(), HasSubstr("has none"));
}

TEST(Devices, ASliceIsNamedByUuidOrByItsGpuAndNumber) {
  auto nvml = two_gpus();
  nvml.device(1).mig = {{.gpu_instance = 9,
                         .compute_instance = 0,
                         .uuid = "MIG-77aa",
                         .memory = nvml::Memory{Bytes(18), Bytes(18), Bytes(0)},
                         .number = 0,
                         .name = "H200 MIG 1g.18gb"},
                        {.gpu_instance = 11, .compute_instance = 0, .uuid = "MIG-77bb", .number = 3}};
  const auto chosen = choose_devices(&nvml, {"MIG-77a", "1:3"});
  ASSERT_TRUE(chosen) << chosen.error().text();
  EXPECT_EQ(chosen->at(0), (ChosenDevice{.uuid = "MIG-77aa",
                                         .slice = SlicePlace{1, 0, 9, 0},
                                         .name = "H200 MIG 1g.18gb",
                                         .total = Bytes(18)}));
  EXPECT_EQ(chosen->at(1).uuid, "MIG-77bb");
  EXPECT_EQ(chosen->at(1).slice->gpu_instance, 11U);
  for (const char* wrong : {"MIG-77", "MIG-78", "1:1", "0:0", "1:", ":"})
    EXPECT_FALSE(choose_devices(&nvml, {wrong})) << wrong;
  EXPECT_EQ(choose_devices(nullptr, {"MIG-77"}), (std::vector<ChosenDevice>{{.uuid = "MIG-77"}}))
      << "CUDA may know it";
  EXPECT_THAT(visible_devices(&nvml, "MIG-77aa"), SizeIs(1));
}

TEST(Devices, WithoutAChoiceAreThoseThatCudaSees) {
  const auto nvml = two_gpus();
  EXPECT_THAT(visible_devices(&nvml, std::nullopt), SizeIs(2));
  EXPECT_THAT(visible_devices(&nvml, "1"), SizeIs(1));
  EXPECT_THAT(visible_devices(&nvml, "1,-1,0"), SizeIs(1)) << "CUDA stops at the first that is none";
  EXPECT_THAT(visible_devices(&nvml, ""), IsEmpty());
  EXPECT_THAT(visible_devices(nullptr, std::nullopt), IsEmpty());
}

}  // namespace
}  // namespace plimsoll::running
