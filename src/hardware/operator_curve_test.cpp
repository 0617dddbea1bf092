#include "hardware/operator_curve.hpp"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::hardware {
namespace {

/// A machine that computes 100 TFLOP/s at best, and the less the fewer rows a product has.
double seconds_of(const OperatorCase& c) {
  const double rows = static_cast<double>(c.extents[0]);
  const double efficiency = rows / (rows + 512);
  return 2e-6 + work_of(c).flops / (1e14 * efficiency);
}
OperatorCase product(std::int64_t m, std::int64_t n, std::int64_t k) {
  return {OperatorClass::matrix, Direction::forward, Arithmetic::bf16, {m, n, k, 0}};
}
std::vector<OperatorPoint> measured() {
  std::vector<OperatorPoint> points;
  for (std::int64_t m = 1; m <= 65536; m *= 4)
    for (std::int64_t n = 64; n <= 8192; n *= 4)
      for (std::int64_t k = 64; k <= 8192; k *= 4)
        points.push_back({product(m, n, k), seconds_of(product(m, n, k)), 0.01});
  return points;
}

TEST(OperatorCurves, FollowAnEfficiencyThatDependsOnSize) {
  const OperatorCurves curves(measured());
  for (const OperatorCase& c : {product(8, 512, 512), product(700, 3000, 768), product(30000, 2048, 512),
                                product(2048, 1000, 4096)}) {
    const auto prediction = curves.predict(c);
    ASSERT_TRUE(prediction);
    EXPECT_NEAR(std::log(prediction->seconds / seconds_of(c)), 0, 0.12) << c.extents[0];
  }
}

TEST(OperatorCurves, SayNothingOfWhatWasNotMeasured) {
  const OperatorCurves curves(measured());
  OperatorCase other = product(8, 512, 512);
  other.arithmetic = Arithmetic::fp32;
  EXPECT_FALSE(curves.predict(other));
  other = product(8, 512, 512);
  other.direction = Direction::backward_weight;
  EXPECT_FALSE(curves.predict(other));
  EXPECT_FALSE(OperatorCurves({}).predict(product(8, 8, 8)));
}

TEST(OperatorCurves, OfOnePointKeepItsEfficiency) {
  const OperatorPoint one{product(1024, 1024, 1024), 1e-4, 0.01};
  const OperatorCurves curves(std::span(&one, 1));
  const auto same = curves.predict(one.what);
  ASSERT_TRUE(same);
  EXPECT_NEAR(same->seconds, 1e-4, 1e-9);
  const auto large = curves.predict(product(65536, 8192, 8192));
  ASSERT_TRUE(large);
  EXPECT_GT(large->seconds, 1e-3);
}

TEST(OperatorCurves, PreferTheSameKernel) {
  std::vector<OperatorPoint> points;
  const auto window = [](std::int64_t batch, std::int64_t kernel) {
    return completed(OperatorCase{OperatorClass::convolution,
                                  Direction::forward,
                                  Arithmetic::tf32,
                                  {batch, 64, 56, 56, 64, kernel, kernel, 1, 1}});
  };
  for (std::int64_t batch = 1; batch <= 256; batch *= 2)
    for (const std::int64_t kernel : {1, 3}) {
      const OperatorCase c = window(batch, kernel);
      points.push_back({c, work_of(c).flops / (kernel == 1 ? 1e13 : 1e14), 0});
      points.back().workspace = kernel == 1 ? 0 : 1e6;
    }
  const OperatorCurves curves(points);
  const auto narrow = curves.predict(window(24, 1)), wide = curves.predict(window(24, 3));
  ASSERT_TRUE(narrow && wide);
  EXPECT_NEAR(narrow->seconds / (work_of(window(24, 1)).flops / 1e13), 1, 0.15);
  EXPECT_NEAR(wide->seconds / (work_of(window(24, 3)).flops / 1e14), 1, 0.15);
}

TEST(OperatorCurves, TakeAWorkspaceFromTheVeryCaseOrOneAlike) {
  const auto window = [](std::int64_t batch, std::int64_t channels) {
    return completed(OperatorCase{OperatorClass::convolution,
                                  Direction::forward,
                                  Arithmetic::tf32,
                                  {batch, channels, 56, 56, channels, 3, 3, 1, 1}});
  };
  std::vector<OperatorPoint> points = {{window(8, 64), 1e-4, 0}, {window(8, 512), 1e-3, 0}};
  points[0].workspace = work_of(window(8, 64)).bytes();
  const OperatorCurves curves(points);
  using enum OperatorCurves::Near;
  EXPECT_EQ(curves.workspace(window(8, 64), same), points[0].workspace);
  EXPECT_EQ(curves.workspace(window(9, 64), same), std::nullopt);
  ASSERT_TRUE(curves.workspace(window(9, 64), alike));
  EXPECT_NEAR(*curves.workspace(window(9, 64), alike), work_of(window(9, 64)).bytes(), 1);
  EXPECT_EQ(curves.workspace(window(256, 64), alike), std::nullopt);
  EXPECT_EQ(curves.workspace(window(8, 512), same), std::nullopt) << "nobody looked at it";
}

TEST(OperatorCurves, ASmallConvolutionOfOneImageIsAnotherKernelOnACpu) {
  const auto window = [](std::int64_t batch, std::int64_t channels) {
    return completed(OperatorCase{OperatorClass::convolution,
                                  Direction::forward,
                                  Arithmetic::fp32,
                                  {batch, channels, 14, 14, channels, 1, 1, 1, 1}});
  };
  // 20,480 values and fewer of a single image are 20 times slower.
  const auto slow = [](const OperatorCase& c) {
    const bool small = c.extents[0] == 1 && c.extents[1] * 14 * 14 <= 20480;
    return (small ? 20 : 1) * (1e-5 + work_of(c).flops / 1e11);
  };
  std::vector<OperatorPoint> points;
  for (const std::int64_t batch : {1, 2, 4})
    for (std::int64_t channels = 16; channels <= 512; channels += 48)
      points.push_back({window(batch, channels), slow(window(batch, channels)), 0});
  const OperatorCurves curves(points);
  for (const OperatorCase& c : {window(1, 96), window(1, 120), window(2, 96), window(3, 40)}) {
    const auto prediction = curves.predict(c);
    ASSERT_TRUE(prediction);
    EXPECT_NEAR(std::log(prediction->seconds / slow(c)), 0, 0.6) << c.extents[0] << ' ' << c.extents[1];
  }
}

TEST(OperatorCurves, FitsTellHowWellPointsFollowFromTheOthers) {
  std::vector<OperatorPoint> points = measured();
  const std::vector<ClassFit> smooth = fit_classes(points);
  ASSERT_EQ(smooth.size(), 1u);
  EXPECT_EQ(smooth[0].points, static_cast<std::int64_t>(points.size()));
  EXPECT_GT(smooth[0].efficiency, 0.01);
  EXPECT_LE(smooth[0].efficiency, 1);
  EXPECT_LE(smooth[0].residual, smooth[0].residual_90);
  for (std::size_t i = 0; i < points.size(); ++i) points[i].seconds *= i % 2 == 0 ? 1 : 2;
  const std::vector<ClassFit> rough = fit_classes(points);
  EXPECT_GT(rough[0].residual, smooth[0].residual + 0.1);
}

}  // namespace
}  // namespace plimsoll::hardware
