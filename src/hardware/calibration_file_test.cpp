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

TEST(BuiltInCalibration, IsWhatItsFileSays) {
  const auto file = load_file(std::filesystem::path(PLIMSOLL_SOURCE_DIR) / "data/calibrations/h200.json");
  ASSERT_TRUE(file) << file.error().text();
  Device device;
  device.id = "h200";
  const auto built_in = calibration_of(device);
  ASSERT_TRUE(built_in) << built_in.error().text();
  ASSERT_TRUE(built_in->has_value());
  EXPECT_GT((*built_in)->points.size(), 10'000u);
  EXPECT_TRUE(**built_in == *file->calibration);  // printed, they would fill a book
}

/// One group of unary operators that says how many rows it has.
Result<Calibration> with_table(int rows, std::span<const double> table) {
  const std::string text = fmt::format(
      R"({{"calibration": {{"date": "2026-11-15", "operators": [
          {{"class": "unary", "direction": "forward", "arithmetic": "fp32", "points": {}}}]}}}})",
      rows);
  const auto json = parse_strictly(text);
  if (!json) return std::unexpected(json.error());
  std::optional<Error> error;
  JsonSection top(*json, "", error);
  auto calibration = read_calibration(top, table);
  if (error) return std::unexpected(*error);
  return *std::move(calibration);
}
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

TEST(BuiltInCalibration, TakesItsRowsFromTheTable) {
  const std::vector<double> table = {64, 1e-6, 0.01, kNone, kNone, 128, 2e-6, 0.02, 4096, 0.5};
  const auto calibration = with_table(2, table);
  ASSERT_TRUE(calibration) << calibration.error().text();
  const OperatorCase small{OperatorClass::unary, Direction::forward, Arithmetic::fp32, {64}};
  const OperatorCase large{OperatorClass::unary, Direction::forward, Arithmetic::fp32, {128}};
  EXPECT_THAT(calibration->points, testing::ElementsAre(OperatorPoint{small, 1e-6, 0.01},
                                                        OperatorPoint{large, 2e-6, 0.02, 4096, 0.5}));
}

TEST(BuiltInCalibration, ATableThatDoesNotFitIsRefused) {
  const std::vector<double> table = {64, 1e-6, 0.01, kNone, kNone};
  EXPECT_THAT(with_table(2, table).error().text(), HasSubstr("more than the table has"));
  EXPECT_THAT(with_table(0, table).error().text(), HasSubstr("leave rows"));
  EXPECT_THAT(with_table(1, {}).error().text(), HasSubstr("operators[0].points"));
  const std::vector<double> hole = {64, kNone, 0.01, kNone, kNone};
  EXPECT_THAT(with_table(1, hole).error().text(), HasSubstr("operators[0].points[0]"));
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
