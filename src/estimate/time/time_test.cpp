#include "estimate/time/time.hpp"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "estimate/profile/roofline.hpp"
#include "estimate/test_estimates.hpp"
#include "hardware/operator_curve.hpp"
#include "network/test_network.hpp"

namespace plimsoll::estimate {
namespace {

using hardware::Arithmetic;
using hardware::Direction;
using hardware::OperatorCase;
using hardware::OperatorClass;
using network::Builder;
using network::TensorId;
using network::test_network::Built;
using network::test_network::built;
using network::test_network::input;

hardware::DeviceFigure figure(double value) {
  return {value, Provenance::datasheet, "a test"};
}

hardware::Device gpu() {
  hardware::Device device;
  device.name = "a GPU";
  device.kind = hardware::DeviceKind::gpu;
  device.power = figure(300);
  device.memory_bandwidth = figure(1e12);
  device.multiprocessors = figure(100);
  device.peak[static_cast<std::size_t>(Arithmetic::fp32)] = figure(1e13);
  device.peak[static_cast<std::size_t>(Arithmetic::tf32)] = figure(1e14);
  device.peak[static_cast<std::size_t>(Arithmetic::bf16)] = figure(2e14);
  return device;
}

TensorId two_layers(Builder& b) {
  const TensorId h =
      b.add("MatMul", "first", {input(b, "x", {64, 256}), b.parameter("first.weight", {256, 512})});
  return b.add("MatMul", "second", {b.add("Tanh", "tanh", {h}), b.parameter("second.weight", {512, 128})});
}

Result<TimeEstimate> timed(const Built& net, network::Mode mode, const hardware::Device& device,
                           const hardware::OperatorCurves* curves = nullptr) {
  return time_of(net.network, net.shapes, {.mode = mode, .loss = network::Loss::mean_square},
                 {&device, curves});
}

TEST(EstimateTime, ProductsInWholeNumbersAreNotTimedAsThoseOfFloats) {
  hardware::Device device = gpu();
  device.peak[static_cast<std::size_t>(Arithmetic::int8)] = figure(4e14);
  device.calibration.emplace();
  const OperatorCase floats{
      .operator_class = OperatorClass::matrix, .arithmetic = Arithmetic::fp32, .extents = {64, 512, 256, 0}};
  for (const std::int64_t rows : {std::int64_t{1}, std::int64_t{64}, std::int64_t{4096}}) {
    OperatorCase point = floats;
    point.extents[0] = rows;
    device.calibration->points.push_back({.what = point, .seconds = 1});  // far too long
  }
  const hardware::OperatorCurves curves(device.calibration->points);
  const Built net = built(two_layers);
  const auto time =
      time_of(net.network, net.shapes, {.precision = network::Precision::int8}, {&device, &curves});
  ASSERT_TRUE(time) << time.error().text();
  EXPECT_LT(time->seconds.value(), 1e-3);
}

TEST(EstimateTime, LayersAddUpToThePass) {
  const auto time = timed(built(two_layers), network::Mode::infer, gpu());
  ASSERT_TRUE(time) << time.error().text();
  ASSERT_EQ(time->layers.size(), 3U);
  double sum = 0;
  for (const LayerTime& layer : time->layers) {
    sum += layer.forward.value();
    EXPECT_LT(layer.low, layer.forward);
    EXPECT_GT(layer.high, layer.forward);
  }
  EXPECT_DOUBLE_EQ(time->seconds.value(), sum);
  EXPECT_LT(time->low, time->seconds);
  EXPECT_GT(time->high, time->seconds);
  EXPECT_EQ(time->provenance, Provenance::datasheet);
  EXPECT_GE(time->eager, time->seconds);
}

TEST(EstimateTime, LaunchesOfAGpuThatNobodyCalibratedAreAssumed) {
  const Built net = built(two_layers);
  const auto time = timed(net, network::Mode::infer, gpu());
  ASSERT_TRUE(time) << time.error().text();
  ASSERT_TRUE(time->eager_launch);
  EXPECT_EQ(time->eager_launch->provenance, Provenance::assumed);
  EXPECT_GE(time->eager.value(), 3 * time->eager_launch->value) << "three kernels, handed over one by one";
  // Two products follow other kernels: beside the roofline each waits as on the GPU that was measured.
  const Result<Program> program = program::lower(net.network, net.shapes, {}, {});
  ASSERT_TRUE(program) << program.error().text();
  double roofline = 0;
  for (const OperatorCase& c : program->kernels) roofline += roofline_time(c, gpu())->seconds.value();
  EXPECT_NEAR(time->seconds.value() - roofline, 2 * 1.185e-6, 1e-9);
  hardware::Device processor = gpu();
  processor.kind = hardware::DeviceKind::cpu;
  const auto there = timed(net, network::Mode::infer, processor);
  ASSERT_TRUE(there);
  EXPECT_FALSE(there->eager_launch);
}

TEST(EstimateTime, TrainingHasABackwardPassAndAStep) {
  const Built net = built(two_layers);
  const auto pass = timed(net, network::Mode::infer, gpu()), step = timed(net, network::Mode::train, gpu());
  ASSERT_TRUE(pass && step);
  EXPECT_GT(step->backward.value(), 0);
  EXPECT_GT(step->optimizer.value(), 0);
  EXPECT_GE(step->forward, pass->forward);
  EXPECT_DOUBLE_EQ(step->seconds.value(), (step->forward + step->backward + step->optimizer).value());
  EXPECT_GT(*step->joules, *pass->joules);
}

TEST(EstimateTime, UnknownWhereTheDeviceHasNoFigures) {
  hardware::Device device = gpu();
  device.memory_bandwidth.reset();
  const auto time = timed(built(two_layers), network::Mode::infer, device);
  ASSERT_FALSE(time);
  EXPECT_NE(time.error().text().find("has no figures for its rate and bandwidth"), std::string::npos);
}

/// Every product takes 100 us, every function 10 us.
std::vector<hardware::OperatorPoint> measured() {
  std::vector<hardware::OperatorPoint> points;
  for (const std::int64_t rows : {16, 64, 256})
    for (const std::int64_t width : {128, 256, 512}) {
      OperatorCase c{.operator_class = OperatorClass::matrix, .arithmetic = Arithmetic::fp32};
      c.extents = {rows, width, width, 0};
      points.push_back({c, 100e-6});
      c = {.operator_class = OperatorClass::function, .arithmetic = Arithmetic::fp32};
      c.extents = {rows * width};
      points.push_back({c, 10e-6});
    }
  return points;
}

TEST(EstimateTime, MeasuredKernelsGoBeforeTheDatasheet) {
  const hardware::OperatorCurves curves(measured());
  const auto time = timed(built(two_layers), network::Mode::infer, gpu(), &curves);
  ASSERT_TRUE(time);
  EXPECT_EQ(time->provenance, Provenance::calibrated);
  EXPECT_NEAR(time->seconds.value(), 210e-6, 30e-6);
}

TEST(EstimateTime, AChangeOfKernelsComesBeforeEachOfThem) {
  const hardware::OperatorCurves curves(measured());
  hardware::Device device = gpu();
  device.calibration = hardware::Calibration{};
  const auto without = timed(built(two_layers), network::Mode::infer, device, &curves);
  device.calibration->changes = {{Arithmetic::fp32, 2e-6, 0.5e-6}, {Arithmetic::bf16, 100e-6, 100e-6}};
  const auto with = timed(built(two_layers), network::Mode::infer, device, &curves);
  ASSERT_TRUE(without && with);
  // Two products and a function between them.
  EXPECT_NEAR((with->seconds - without->seconds).value(), 2 * 2e-6 + 0.5e-6, 1e-12);
}

// ---- Which kernels a network runs

std::int64_t count(const Built& net, OperatorClass what, const network::Setting& setting = {},
                   const program::Platform& platform = {}) {
  const auto program = program::lower(net.network, net.shapes, setting, platform);
  EXPECT_TRUE(program);
  return std::ranges::count(program->kernels, what, &OperatorCase::operator_class);
}

/// A depthwise convolution, alone or after the channels were moved to the front.
TensorId depthwise(Builder& b, bool moved) {
  TensorId x = moved ? input(b, "x", {2, 14, 14, 32}) : input(b, "x", {2, 32, 14, 14});
  if (moved) x = b.add("Transpose", "turn", {x}, {{"perm", {0, 3, 1, 2}}});
  return b.add("Conv", "conv", {x, b.parameter("conv.weight", {32, 1, 3, 3})},
               {{"group", 32}, {"pads", {1, 1, 1, 1}}});
}

TEST(Kernels, DepthwiseConvolutionsKnowTheirLayout) {
  const Built plain = built([](Builder& b) { return depthwise(b, false); }),
              moved = built([](Builder& b) { return depthwise(b, true); });
  EXPECT_EQ(count(plain, OperatorClass::depthwise), 1);
  EXPECT_EQ(count(plain, OperatorClass::depthwise_channels_last), 0);
  EXPECT_EQ(count(moved, OperatorClass::depthwise), 0);
  EXPECT_EQ(count(moved, OperatorClass::depthwise_channels_last), 1);
  EXPECT_EQ(count(moved, OperatorClass::depthwise, {}, {.gpu = false}), 1);
}

/// The joint projection of torch.nn.MultiheadAttention, unpacked, with rows in another order.
TensorId unpacked_projection(Builder& b) {
  const TensorId x = input(b, "x", {4, 10, 96});
  const TensorId joint = b.add("MatMul", "in_proj", {x, b.parameter("in_proj.weight", {96, 288})});
  const TensorId cut = b.add("Reshape", "cut", {joint, b.constant("extents", {4, 10, 3, 96})});
  const TensorId front = b.add("Unsqueeze", "front", {cut, b.constant("first", {0})});
  const TensorId turned = b.add("Transpose", "turn", {front}, {{"perm", {3, 1, 2, 0, 4}}});
  const TensorId packed = b.add("Squeeze", "packed", {turned, b.constant("fourth", {3})});
  TensorId sum =
      b.add("Gather", "query", {packed, b.constant_scalar("index0", std::int64_t{0})}, {{"axis", 0}});
  for (const std::int64_t i : {1, 2})
    sum = b.add("Add", i == 1 ? "keys" : "values",
                {sum, b.add("Gather", i == 1 ? "key" : "value",
                            {packed, b.constant_scalar(i == 1 ? "index1" : "index2", i)}, {{"axis", 0}})});
  return sum;
}

TEST(Kernels, AttentionsOwnWayOfInferenceCopiesNothing) {
  const Built net = built(unpacked_projection);
  EXPECT_EQ(count(net, OperatorClass::copy), 0);
  EXPECT_EQ(count(net, OperatorClass::copy, {.mode = network::Mode::train}), 1);
  EXPECT_GT(count(net, OperatorClass::copy, {.precision = network::Precision::amp_bf16}), 0);
}

}  // namespace
}  // namespace plimsoll::estimate
