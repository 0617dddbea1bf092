#include "estimate/time/energy.hpp"

#include <gtest/gtest.h>

namespace plimsoll::estimate {
namespace {

using hardware::Arithmetic;

hardware::DeviceFigure figure(double value) {
  return {value, Provenance::datasheet, "a test"};
}

hardware::Device board() {
  hardware::Device device;
  device.kind = hardware::DeviceKind::gpu;
  device.power = figure(1000);
  device.memory_bandwidth = figure(1e12);
  device.peak[static_cast<std::size_t>(Arithmetic::fp32)] = figure(1e13);
  device.peak[static_cast<std::size_t>(Arithmetic::bf16)] = figure(1e14);
  return device;
}

hardware::Ceiling ceiling(std::string name, double value, std::string unit) {
  return {.name = std::move(name), .figure = figure(value), .unit = std::move(unit)};
}

/// 100 W idle, 400 W at 1 TB/s, 900 W at 80 TFLOP/s.
hardware::Device calibrated_board() {
  hardware::Device device = board();
  hardware::Calibration calibration;
  calibration.ceilings = {ceiling("idle-power", 100, "W"), ceiling("memory-triad", 1e12, "B/s"),
                          ceiling("energy-memory-triad", 400 / 1e12, "J/B"),
                          ceiling("product-bf16", 8e13, "FLOP/s"),
                          ceiling("energy-product-bf16", 900 / 8e13, "J/FLOP")};
  device.calibration = std::move(calibration);
  return device;
}

double watts(const hardware::Device& device, bool calibrated, hardware::OperatorWork work) {
  EnergyMeter meter(device, calibrated);
  meter.add(work, Arithmetic::bf16, Seconds(1));
  const auto energy = meter.estimate(Seconds(1), Seconds(1));
  return energy ? energy->joules.value() : -1;
}

TEST(EnergyMeter, DrawsIdlePowerWhereNothingIsDone) {
  EXPECT_NEAR(watts(calibrated_board(), true, {0, 0}), 100, 1e-9);
}

TEST(EnergyMeter, DrawsWhatTheLoadsDrewAtTheirRates) {
  // The triad's 400 W are of floats; two-byte values take more.
  EXPECT_NEAR(watts(calibrated_board(), true, {.flops = 0, .bytes_read = 1e12}), 100 + 1.36 * 300, 0.1);
  EXPECT_NEAR(watts(calibrated_board(), true, {.flops = 8e13, .bytes_read = 0}), 900, 0.1);
}

TEST(EnergyMeter, MostOfThePowerComesSoon) {
  const double tenth = watts(calibrated_board(), true, {.flops = 8e12, .bytes_read = 0}) - 100;
  EXPECT_GT(tenth, 0.3 * 800);
  EXPECT_LT(tenth, 0.5 * 800);
}

TEST(EnergyMeter, NeverMoreThanTheBoardsLimit) {
  EXPECT_NEAR(watts(calibrated_board(), true, {.flops = 8e13, .bytes_read = 1e12}), 1000, 0.1);
  EXPECT_LE(watts(board(), false, {.flops = 1e15, .bytes_read = 1e15}), 1000);
}

TEST(EnergyMeter, BetweenKernelsOnlyIdlePowerCounts) {
  const hardware::Device device = calibrated_board();
  EnergyMeter short_kernel(device, true);
  short_kernel.add({.flops = 1e9, .bytes_read = 1e6}, Arithmetic::bf16, Seconds(1e-6));
  EXPECT_NEAR(short_kernel.estimate(Seconds(1e-6), Seconds(1e-6))->joules.value(), 100e-6, 1e-9);
}

TEST(EnergyMeter, KnowsNothingWithoutFigures) {
  hardware::Device device = board();
  device.power.reset();
  EXPECT_FALSE(EnergyMeter(device, true).estimate(Seconds(1), Seconds(1)));
  hardware::Device slow = board();
  slow.memory_bandwidth.reset();
  EXPECT_FALSE(EnergyMeter(slow, false).estimate(Seconds(1), Seconds(1)));
}

TEST(EnergyMeter, SharesOfTheLimitWithoutACalibration) {
  const double idle = watts(board(), false, {0, 0});
  EXPECT_GT(idle, 100);
  EXPECT_LT(idle, 250);
  EXPECT_GT(watts(board(), false, {.flops = 7e13, .bytes_read = 0}), 900);
}

/// Half the width, as a share, of one second in which memory is read.
double half_width(const hardware::Device& device, bool calibrated, double time_high) {
  EnergyMeter meter(device, calibrated);
  meter.add({.flops = 0, .bytes_read = 1e11}, Arithmetic::bf16, Seconds(1));
  const auto energy = meter.estimate(Seconds(1), Seconds(time_high));
  EXPECT_LT(energy->low, energy->joules);
  EXPECT_GT(energy->high, energy->joules);
  return (energy->high - energy->low) / energy->joules / 2;
}

TEST(EnergyMeter, TheIntervalHasTheTimesErrorAndThePowers) {
  const double power_alone = half_width(calibrated_board(), true, 1);
  const double both = half_width(calibrated_board(), true, 1.3);
  EXPECT_GT(power_alone, 0.1);
  EXPECT_GT(both, 1.05 * power_alone);
  EXPECT_LT(both, power_alone + 0.3) << "what takes longer draws less meanwhile";
}

TEST(EnergyMeter, TheIntervalIsWiderWhereOnlyTheLimitIsKnown) {
  EXPECT_GT(half_width(board(), false, 1.3), 1.2 * half_width(calibrated_board(), true, 1.3));
}

TEST(EnergyMeter, TheIntervalEndsAtTheBoardsLimit) {
  const hardware::Device device = calibrated_board();
  EnergyMeter meter(device, true);
  meter.add({.flops = 8e13, .bytes_read = 0}, Arithmetic::bf16, Seconds(1));
  EXPECT_NEAR(meter.estimate(Seconds(1), Seconds(1.02))->high.value(), 1000 * 1.02, 1e-9);
}

}  // namespace
}  // namespace plimsoll::estimate
