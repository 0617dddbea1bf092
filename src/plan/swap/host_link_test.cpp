#include "plan/swap/host_link.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::swapping {
namespace {

hardware::Device device_with(std::optional<hardware::Calibration> calibration) {
  return {.id = "d", .name = "D", .calibration = std::move(calibration)};
}

hardware::Ceiling pinned(double bytes, double rate) {
  return {.name = "copy-to-device-pinned",
          .figure = {.value = rate, .source = "a probe"},
          .unit = "B/s",
          .at = bytes};
}

TEST(SwapHostLink, IsWhatWasMeasuredFromPinnedMemory) {
  hardware::Calibration calibration{.date = "2026-01-01"};
  calibration.ceilings = {pinned(1000, 1e8), pinned(1e6, 9e8), pinned(1e9, 1e9)};
  calibration.ceilings.push_back(
      {.name = "copy-to-device-pageable", .figure = {.value = 9e9}, .unit = "B/s"});
  const auto link = host_link(device_with(calibration));
  ASSERT_TRUE(link);
  EXPECT_EQ(link->bandwidth, BytesPerSecond(1e9));
  EXPECT_NEAR(link->latency.value(), 9e-6, 1e-12);  // 10 us for 1,000 B, of which their flow is 1
  EXPECT_EQ(link->provenance, Provenance::measured);
  EXPECT_NEAR(link->copy(Bytes(1'000'000)).value(), 1.009e-3, 1e-9);
}

TEST(SwapHostLink, ElseHalfOfPciExpressElseUnknown) {
  hardware::Device device = device_with({});
  EXPECT_FALSE(host_link(device));
  device.link = "NVLink";
  device.link_bandwidth = hardware::DeviceFigure{.value = 900e9};
  const auto none = host_link(device);
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().hint, testing::HasSubstr("--link"));
  device.link = "PCIe 4.0";
  device.link_bandwidth = hardware::DeviceFigure{.value = 64e9};
  ASSERT_TRUE(host_link(device));
  EXPECT_EQ(host_link(device)->bandwidth, BytesPerSecond(32e9));
  EXPECT_EQ(host_link(device)->provenance, Provenance::datasheet);
}

}  // namespace
}  // namespace plimsoll::swapping
