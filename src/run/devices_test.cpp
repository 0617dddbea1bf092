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
  const auto chosen = choose_devices(&nvml, {"1", "GPU-aa", "MIG-77"});
  ASSERT_TRUE(chosen) << chosen.error().text();
  EXPECT_EQ(chosen->at(0).uuid, "GPU-ab22");
  EXPECT_EQ(chosen->at(1).number, 0U);
  EXPECT_EQ(chosen->at(2), (ChosenDevice{.uuid = "MIG-77"})) << "a slice's GPU is not looked up";
  for (const char* wrong : {"2", "GPU-a", "GPU-zz", "", "-1", "0x1"}) {
    const auto refused = choose_devices(&nvml, {wrong});
    ASSERT_FALSE(refused) << wrong;
  }
  EXPECT_THAT(choose_devices(nullptr, {"0"}).error().text(), HasSubstr("has none"));
}

TEST(Devices, WithoutAChoiceAreThoseThatCudaSees) {
  const auto nvml = two_gpus();
  EXPECT_THAT(visible_devices(&nvml, std::nullopt), SizeIs(2));
  EXPECT_THAT(visible_devices(&nvml, "1"), SizeIs(1));
  EXPECT_THAT(visible_devices(&nvml, "1,-1,0"), SizeIs(1)) << "CUDA stops at the first that is none";
  EXPECT_THAT(visible_devices(&nvml, ""), IsEmpty());
  EXPECT_THAT(visible_devices(nullptr, std::nullopt), IsEmpty());
}

TEST(Admission, CountsWhatIsPromised) {
  const Need need{Bytes(60), "given"};
  EXPECT_EQ(admit(need, Room{Bytes(100), Bytes(100)}), Admission::start);
  EXPECT_EQ(admit(need, Room{Bytes(100), Bytes(100), Bytes(41)}), Admission::wait);
  EXPECT_EQ(admit(need, Room{Bytes(59), Bytes(100)}), Admission::wait);
  EXPECT_EQ(admit(need, Room{Bytes(50), Bytes(50)}), Admission::never);
  EXPECT_EQ(admit(std::nullopt, Room{Bytes(0), Bytes(50)}), Admission::start);
  EXPECT_EQ(admit(need, std::nullopt), Admission::start);
}

}  // namespace
}  // namespace plimsoll::running
