#include "hardware/calibration_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hardware/catalogue.hpp"
#include "hardware/device_file.hpp"

namespace plimsoll::hardware {
namespace {

using testing::HasSubstr;

Device small_device() {
  Device device;
  device.id = "own";
  device.name = "My \"own\" device";
  device.vendor = "me";
  device.memory = DeviceFigure{8e9, Provenance::datasheet, "its box", "2024"};
  device.peak[static_cast<std::size_t>(Arithmetic::int8)] =
      DeviceFigure{1e12, Provenance::assumed, "a guess", ""};
  Calibration calibration;
  calibration.date = "2026-11-15";
  calibration.versions = {"PyTorch 2.11", "CUDA 13.0"};
  calibration.remarks = {"clocks moved by 8 %"};
  calibration.eager_launch =
      DeviceFigure{4.5e-6, Provenance::measured, "host's time per operator", "2026-11-15"};
  calibration.changes = {{Arithmetic::fp32, 1.25e-6, 2.5e-7}, {Arithmetic::bf16, 1.5e-6, 0}};
  calibration.ceilings = {
      {"memory-read", DeviceFigure{4.1e12, Provenance::measured, "plimsoll-cuda", "2026-11-15"}, "B/s", 0.01,
       1e9, 0.85},
      {"launch-kernel", DeviceFigure{2e-6, Provenance::measured, "", "2026-11-14"}, "s", 0.02}};
  const OperatorCase product{OperatorClass::matrix, Direction::forward, Arithmetic::bf16, {64, 128, 256, 1}};
  const OperatorCase window = completed({OperatorClass::convolution,
                                         Direction::backward_weight,
                                         Arithmetic::tf32,
                                         {1, 3, 224, 224, 64, 7, 7, 2, 1}});
  calibration.points = {{window, 1.25e-4, 0.011, 2097152}, {product, 3.125e-6, 0.002}};
  calibration.points[1].joules = 0.5;
  calibration.fits = {
      {OperatorClass::convolution, Direction::backward_weight, Arithmetic::tf32, 1, 0.5, 0.04, 0.125},
      {OperatorClass::matrix, Direction::forward, Arithmetic::bf16, 1, 0.75, 0, 0}};
  device.calibration = calibration;
  return device;
}

TEST(DeviceFile, ADeviceWithItsCalibrationComesBackEqual) {
  const Device device = small_device();
  const auto again = parse_device(write_device(device), "own.json");
  ASSERT_TRUE(again) << again.error().text();
  // 2097152 B keep four digits.
  Device expected = device;
  expected.calibration->points[0].workspace = 2097000;
  EXPECT_EQ(*again, expected);
}

TEST(DeviceFile, WhatIsClaimedOfABoardComesBack) {
  Device device = small_device();
  device.board.emplace();
  device.board->updates_in_place = Claim{true, Provenance::datasheet, "manual", "2024"};
  device.board->clock = DeviceFigure{123456789, Provenance::measured, "seen"};
  const auto again = parse_device(write_device(device), "own.json");
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->board, device.board);
}

TEST(DeviceFile, EveryDeviceOfTheCatalogueComesBackEqual) {
  ASSERT_TRUE(built_in_catalogue());
  for (const Device& device : built_in_catalogue()->devices()) {
    const auto again = parse_device(write_device(device), device.id);
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(*again, device) << device.id;
  }
}

TEST(DeviceFile, TenThousandPointsAreSmall) {
  Device device = small_device();
  const OperatorPoint model = device.calibration->points[0];
  device.calibration->points.clear();
  for (std::int64_t i = 0; i < 10'000; ++i) {
    OperatorPoint point = model;
    point.what.extents[0] = 1 + i;
    point.seconds = 1e-5 * (1.0 + static_cast<double>(i) / 7);
    device.calibration->points.push_back(point);
  }
  EXPECT_LT(write_device(device).size(), 650'000u);
}

struct Damage {
  std::string_view from, to, complaint;
};
class DamagedCalibration : public testing::TestWithParam<Damage> {};

TEST_P(DamagedCalibration, IsRefusedWithItsPlace) {
  std::string text = write_device(small_device());
  const auto at = text.find(GetParam().from);
  ASSERT_NE(at, text.npos) << GetParam().from;
  text.replace(at, GetParam().from.size(), GetParam().to);
  const auto device = parse_device(text, "own.json");
  ASSERT_FALSE(device);
  EXPECT_THAT(device.error().text(), HasSubstr(GetParam().complaint));
}

INSTANTIATE_TEST_SUITE_P(
    Files, DamagedCalibration,
    testing::Values(
        Damage{"[64,128,256,1,3.125e-06", "[64,128,256,1,-3.125e-06", "calibration.operators[1].points[0]"},
        Damage{"[64,128,256,1,3.125e-06", "[64,128,256,1,0", "operators[1].points[0]"},
        Damage{"[64,128,256,1,3.125e-06", "[64,128,256,\"1\",3.125e-06", "points[0]"},
        Damage{"[64,128,256,1,3.125e-06", "[64,128,3.125e-06", "points[0]"},
        Damage{"[64,128,256,1,3.125e-06", "[64,128,1e99,1,3.125e-06", "points[0]"},
        Damage{"\"class\":\"matrix\"", "\"class\":\"matrices\"", "operators[1].class"},
        Damage{"\"direction\":\"forward\"", "\"direction\":\"up\"", "operators[1].direction"},
        Damage{"\"residual\":0.04", "\"residual\":\"low\"", "operators[0].fit.residual"},
        Damage{"\"unit\":\"B/s\"", "\"units\":\"B/s\"", "calibration.ceilings[0]"},
        Damage{"\"spread\":0.01", "\"spread\":-1", "ceilings[0].spread"},
        Damage{"\"date\": \"2026-11-15\"", "\"day\": \"2026-11-15\"", "calibration"},
        Damage{"\"operators\": [", "\"operators\": {", "line"},
        Damage{"\"product_seconds\":1.25e-06", "\"product_seconds\":-1", "kernel_changes[0].product_seconds"},
        Damage{"\"eager_launch\": 4.5e-06", "\"eager_launch\": true", "calibration.eager_launch"}));

TEST(DeviceFile, APointThatStandsTwiceIsRefused) {
  Device device = small_device();
  device.calibration->points.push_back(device.calibration->points[1]);
  const auto again = parse_device(write_device(device), "own.json");
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().text(), HasSubstr("twice"));
}

}  // namespace
}  // namespace plimsoll::hardware
