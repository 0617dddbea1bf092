#include <gtest/gtest.h>

#include "estimate/test_estimates.hpp"
#include "network/builder.hpp"

namespace plimsoll::estimate {
namespace {

/// y[64, 256] = relu(x[64, 512] times w[512, 256]), if it is a product at all.
network::Network layer(bool product) {
  network::Builder b("m");
  b.opset("", 17);
  const network::TensorId x =
      b.input("x", network::DataType::float32, {network::Dim::of(64), network::Dim::of(512)});
  const network::TensorId y = product ? b.add("MatMul", "product", {x, b.parameter("w", {512, 256})}) : x;
  b.output(b.add("Relu", "relu", {y}));
  return std::move(b).finish();
}

hardware::Device with_peaks() {
  hardware::Device device{.id = "d", .name = "D", .kind = hardware::DeviceKind::gpu};
  device.memory_bandwidth = hardware::DeviceFigure{1e12};
  device.peak[static_cast<std::size_t>(hardware::Arithmetic::fp32)] = hardware::DeviceFigure{1e13};
  device.peak[static_cast<std::size_t>(hardware::Arithmetic::bf16)] = hardware::DeviceFigure{1e14};
  return device;
}

Result<TimeEstimate> estimated(bool product, network::Precision precision) {
  const network::Network network = layer(product);
  const network::Shapes shapes = network::infer(network, network::bind(network, {}).value()).value();
  const hardware::Device device = with_peaks();
  return time_of(network, shapes, {.precision = precision}, {&device});
}

TEST(ShareOfPeak, IsTheProductsFlopsOverTimeAndPeakOfTheirArithmetic) {
  constexpr double kProductFlops = 2.0 * 64 * 512 * 256;
  for (const auto& [precision, peak] :
       {std::pair{network::Precision::fp32, 1e13}, {network::Precision::bf16, 1e14}}) {
    const auto time = estimated(true, precision);
    ASSERT_TRUE(time) << time.error().text();
    ASSERT_TRUE(time->share_of_peak);
    EXPECT_NEAR(*time->share_of_peak, kProductFlops / time->seconds.value() / peak, 1e-9);
    EXPECT_GT(*time->share_of_peak, 0);
    EXPECT_LT(*time->share_of_peak, 1);
  }
}

TEST(ShareOfPeak, IsUnknownWhereThereIsNoProduct) {
  const auto time = estimated(false, network::Precision::fp32);
  ASSERT_TRUE(time) << time.error().text();
  EXPECT_FALSE(time->share_of_peak);
}

}  // namespace
}  // namespace plimsoll::estimate
