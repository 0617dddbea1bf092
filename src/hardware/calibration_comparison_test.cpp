#include "hardware/calibration_comparison.hpp"

#include <gtest/gtest.h>

namespace plimsoll::hardware {
namespace {

Calibration with(double factor) {
  Calibration calibration;
  for (std::int64_t n = 1; n <= 1 << 20; n *= 4)
    calibration.points.push_back({{OperatorClass::unary, Direction::forward, Arithmetic::fp32, {n}},
                                  factor * (1e-6 + 1e-12 * static_cast<double>(n)),
                                  0.01});
  calibration.ceilings = {{"memory-read", DeviceFigure{4e12 / factor}, "B/s", 0.01, 1e9},
                          {"launch-kernel", DeviceFigure{2e-6}, "s", 0.01}};
  return calibration;
}

TEST(CompareCalibrations, TellsByHowMuchAClassDiffers) {
  const Calibration first = with(1), second = with(1.04);
  const CalibrationDifference difference = compare(first, second);
  ASSERT_EQ(difference.classes.size(), 1u);
  EXPECT_EQ(difference.classes[0].points, 11);
  EXPECT_NEAR(difference.classes[0].change(), 1 / 1.04 - 1, 1e-9);
  EXPECT_LE(difference.classes[0].first, 1);
  ASSERT_EQ(difference.ceilings.size(), 2u);
  EXPECT_NEAR(difference.ceilings[0].change(), 1 / 1.04 - 1, 1e-9);
  EXPECT_EQ(difference.ceilings[1].change(), 0);
}

TEST(CompareCalibrations, OnlyWhatBothHaveCounts) {
  Calibration first = with(1), second = with(1);
  second.points.erase(second.points.begin() + 2);
  first.points.erase(first.points.begin() + 5);
  second.ceilings[0].at = 2e9;
  const CalibrationDifference difference = compare(first, second);
  EXPECT_EQ(difference.classes[0].points, 9);
  EXPECT_EQ(difference.ceilings.size(), 1u);
  EXPECT_TRUE(compare(first, {}).classes.empty());
}

}  // namespace
}  // namespace plimsoll::hardware
