#include "estimate/profile/kernel_efficiency.hpp"

#include <set>
#include <tuple>

#include <gtest/gtest.h>

#include "estimate/profile/roofline.hpp"

namespace plimsoll::estimate {
namespace {

using hardware::Arithmetic;
using hardware::Direction;
using hardware::OperatorCase;
using hardware::OperatorClass;

TEST(KernelEfficiency, EachRowStandsOnceAndIsPossible) {
  std::set<std::tuple<OperatorClass, Direction, KernelFormat>> seen;
  ASSERT_GT(kernel_efficiencies().size(), 60U);
  for (const KernelEfficiencyRow& row : kernel_efficiencies()) {
    EXPECT_TRUE(seen.emplace(row.operator_class, row.direction, row.format).second);
    EXPECT_GT(row.efficiency.compute, 0);
    EXPECT_LE(row.efficiency.compute, 1);
    EXPECT_GT(row.efficiency.memory, 0);
    EXPECT_LE(row.efficiency.memory, 1);
    EXPECT_GT(row.efficiency.log_error, 0);
  }
}

TEST(KernelEfficiency, ProductsReachMoreThanConvolutions) {
  const OperatorCase matrix{OperatorClass::matrix, Direction::forward, Arithmetic::bf16, {}};
  const OperatorCase convolution{OperatorClass::convolution, Direction::forward, Arithmetic::bf16, {}};
  EXPECT_GT(efficiency_of(matrix, KernelFormat::half).compute,
            efficiency_of(convolution, KernelFormat::half).compute);
}

TEST(KernelEfficiency, AnUnmeasuredFormatIsAsAnother) {
  const OperatorCase depthwise{OperatorClass::depthwise, Direction::forward, Arithmetic::fp32, {}};
  EXPECT_EQ(efficiency_of(depthwise, KernelFormat::vector).memory,
            efficiency_of(depthwise, KernelFormat::tf32).memory);
  // Nobody steps an optimizer backward.
  const OperatorCase none{OperatorClass::optimizer_adam, Direction::backward_weight, Arithmetic::fp32, {}};
  EXPECT_EQ(efficiency_of(none, KernelFormat::vector).compute, KernelEfficiency{}.compute);
}

hardware::Device device_with_cache() {
  const auto figure = [](double value) {
    return hardware::DeviceFigure{value, Provenance::datasheet, "a test"};
  };
  hardware::Device device;
  device.kind = hardware::DeviceKind::gpu;
  device.memory_bandwidth = figure(1e12);
  device.l2_cache = figure(50e6);
  device.multiprocessors = figure(100);
  device.peak[static_cast<std::size_t>(Arithmetic::fp32)] = figure(1e13);
  return device;
}

TEST(RooflineSeconds, WhatFitsIntoTheCacheIsFaster) {
  const KernelEfficiency whole{.compute = 1, .memory = 1, .ramp_flops = 0, .ramp_bytes = 0};
  const hardware::Device device = device_with_cache();
  const auto seconds = [&](std::int64_t elements) {
    OperatorCase c{.operator_class = OperatorClass::copy, .arithmetic = Arithmetic::fp32};
    c.extents[0] = elements;
    return (*roofline_seconds(c, whole, device) - kernel_gap(device)).value();
  };
  EXPECT_NEAR(seconds(6'000'000), 48e6 / 2e12, 1e-7);
  EXPECT_NEAR(seconds(60'000'000), 480e6 / 1e12, 1e-6);
}

TEST(RooflineSeconds, TheRampIsWorthWorkOfEveryMultiprocessor) {
  const KernelEfficiency ramped{.compute = 1, .memory = 1, .ramp_flops = 0, .ramp_bytes = 1e5};
  const hardware::Device device = device_with_cache();
  OperatorCase c{.operator_class = OperatorClass::copy, .arithmetic = Arithmetic::fp32};
  c.extents[0] = 1;
  EXPECT_NEAR((*roofline_seconds(c, ramped, device) - kernel_gap(device)).value(), 1e7 / 2e12, 1e-9);
}

TEST(RooflineSeconds, WithoutMatrixUnitsProductsRunInVectorUnits) {
  const OperatorCase product{OperatorClass::matrix, Direction::forward, Arithmetic::fp16, {}};
  const OperatorCase convolution{OperatorClass::convolution, Direction::forward, Arithmetic::tf32, {}};
  hardware::Device device = device_with_cache();  // 10 TFLOP/s in fp32
  EXPECT_EQ(format_on(device, convolution), KernelFormat::vector);
  auto& half = device.peak[static_cast<std::size_t>(Arithmetic::fp16)];
  half = hardware::DeviceFigure{2e13, Provenance::datasheet, "a test"};
  EXPECT_EQ(format_on(device, product), KernelFormat::vector);
  half->value = 8e13;
  EXPECT_EQ(format_on(device, product), KernelFormat::half);
}

TEST(RooflineSeconds, UnknownWithoutRateOrBandwidth) {
  hardware::Device device = device_with_cache();
  device.memory_bandwidth.reset();
  EXPECT_FALSE(roofline_seconds({}, {}, device));
}

}  // namespace
}  // namespace plimsoll::estimate
