#include "estimate/floor.hpp"

#include <gtest/gtest.h>

#include "program/count_test_support.hpp"

namespace plimsoll::estimate {
namespace {

using namespace program::count_test;
using hardware::Arithmetic;
using network::Mode;
using network::Optimizer;
using network::Precision;

/// 100 FLOP/s in fp32, 1000 in tf32, 2000 in fp16, 50 B/s, 10,000 B.
hardware::Device device() {
  hardware::Device d{.id = "d", .name = "D"};
  d.peak[static_cast<std::size_t>(Arithmetic::fp32)] = hardware::DeviceFigure{100};
  d.peak[static_cast<std::size_t>(Arithmetic::tf32)] = hardware::DeviceFigure{1000};
  d.peak[static_cast<std::size_t>(Arithmetic::fp16)] = hardware::DeviceFigure{2000};
  d.memory_bandwidth = hardware::DeviceFigure{50};
  d.memory = hardware::DeviceFigure{10000};
  return d;
}

Counted one_product() {
  return counted([](Builder& b) { return b.add("MatMul", "op", {x(b, {2, 3}), b.parameter("w", {3, 5})}); });
}

TEST(Floor, InferenceMovesWeightsInputAndOutputOnce) {
  const Counted c = one_product();
  const Needs n = needs(c.network, c.counts,
                        {.mode = Mode::infer, .precision = Precision::fp32, .optimizer = Optimizer::adam});
  EXPECT_EQ(n.weights.count(), 4 * 15);
  EXPECT_EQ(n.memory().count(), 4 * 15);
  EXPECT_EQ(n.traffic.count(), 4 * (15 + 6 + 10));
  EXPECT_DOUBLE_EQ(n.products.value(), 2 * 30);
  EXPECT_DOUBLE_EQ(n.convolutions.value(), 0);
  EXPECT_TRUE(n.complete);
  const Floors f = floors(n, device(), Precision::fp32);
  EXPECT_DOUBLE_EQ(f.compute->value(), 60.0 / 100);
  EXPECT_DOUBLE_EQ(f.memory->value(), 124.0 / 50);
  EXPECT_EQ(f.binding(), Floors::Binding::memory);
  EXPECT_DOUBLE_EQ(f.floor()->value(), 124.0 / 50);
  EXPECT_TRUE(*f.fits);
}

TEST(Floor, HalfPrecisionStoredAndAskedIsNotHalvedTwice) {
  for (const auto stored : {network::DataType::float16, network::DataType::bfloat16}) {
    const Counted c = counted(
        [&](Builder& b) { return b.add("MatMul", "op", {x(b, {2, 3}), b.parameter("w", {3, 5}, stored)}); });
    for (const Precision p : {Precision::fp32, Precision::fp16, Precision::bf16, Precision::amp_fp16})
      EXPECT_EQ(needs(c.network, c.counts, {.precision = p}).weights.count(), 2 * 15) << network::name(p);
    const Needs training =
        needs(c.network, c.counts,
              {.mode = Mode::train, .precision = Precision::fp16, .optimizer = Optimizer::adam});
    EXPECT_EQ(training.gradients.count(), 2 * 15);
    EXPECT_EQ(training.optimizer_state.count(), 2 * 2 * 15);
  }
}

TEST(Floor, TrainingAddsGradientsAndState) {
  const Counted c = one_product();
  for (const auto& [optimizer, states] : {std::pair{Optimizer::sgd, 0},
                                          {Optimizer::momentum, 1},
                                          {Optimizer::adam, 2},
                                          {Optimizer::adamw, 2}}) {
    const Needs n = needs(c.network, c.counts,
                          {.mode = Mode::train, .precision = Precision::fp32, .optimizer = optimizer});
    EXPECT_EQ(n.gradients.count(), 60);
    EXPECT_EQ(n.optimizer_state.count(), 60 * states);
    EXPECT_EQ(n.memory().count(), 60 * (2 + states));
    EXPECT_EQ(n.traffic.count(), 4 * (15 + 6 + 10) + 60 + 2 * 60 * states);
    EXPECT_DOUBLE_EQ(n.products.value(), 2 * (30 + 30));  // the weights' gradient; the input needs none
  }
}

TEST(Floor, PrecisionChoosesRateAndWidth) {
  const Counted c = one_product();
  const auto compute = [&](Precision p) {
    return floors(
               needs(c.network, c.counts, {.mode = Mode::infer, .precision = p, .optimizer = Optimizer::sgd}),
               device(), p)
        .compute->value();
  };
  EXPECT_DOUBLE_EQ(compute(Precision::fp32), 0.6);  // products in FP32
  EXPECT_DOUBLE_EQ(compute(Precision::tf32), 0.06);
  EXPECT_DOUBLE_EQ(compute(Precision::fp16), 0.03);
  EXPECT_DOUBLE_EQ(compute(Precision::bf16), 0.6);  // the device has none: the next wider
  EXPECT_EQ(needs(c.network, c.counts,
                  {.mode = Mode::infer, .precision = Precision::fp16, .optimizer = Optimizer::sgd})
                .weights.count(),
            30);
  EXPECT_EQ(needs(c.network, c.counts,
                  {.mode = Mode::infer, .precision = Precision::int8, .optimizer = Optimizer::sgd})
                .weights.count(),
            15);
  EXPECT_EQ(needs(c.network, c.counts,
                  {.mode = Mode::infer, .precision = Precision::amp_fp16, .optimizer = Optimizer::sgd})
                .weights.count(),
            60);
}

TEST(Floor, ConvolutionsUseTf32ByDefault) {
  const Counted c = counted(
      [](Builder& b) { return b.add("Conv", "op", {x(b, {1, 1, 5, 5}), b.parameter("w", {1, 1, 5, 5})}); });
  const Needs n = needs(c.network, c.counts,
                        {.mode = Mode::infer, .precision = Precision::fp32, .optimizer = Optimizer::sgd});
  EXPECT_DOUBLE_EQ(n.convolutions.value(), 50);
  EXPECT_DOUBLE_EQ(floors(n, device(), Precision::fp32).compute->value(), 50.0 / 1000);
  EXPECT_DOUBLE_EQ(floors(n, device(), Precision::fp32_strict).compute->value(), 50.0 / 100);
}

TEST(Floor, WhatTheDeviceLacksIsSaid) {
  const Counted c = one_product();
  const Needs n = needs(c.network, c.counts,
                        {.mode = Mode::infer, .precision = Precision::fp32, .optimizer = Optimizer::sgd});
  const Floors f = floors(n, hardware::Device{.id = "d", .name = "D"}, Precision::fp32);
  EXPECT_FALSE(f.compute);
  EXPECT_FALSE(f.memory);
  EXPECT_FALSE(f.fits);
  EXPECT_FALSE(f.floor());
  EXPECT_EQ(f.binding(), Floors::Binding::unknown);
  EXPECT_EQ(f.missing, "peak rate, memory bandwidth, memory size");
}

TEST(Floor, DoesNotFitIsAnAnswer) {
  const Counted c = one_product();
  hardware::Device small = device();
  small.memory = hardware::DeviceFigure{59};
  const Needs n = needs(c.network, c.counts,
                        {.mode = Mode::infer, .precision = Precision::fp32, .optimizer = Optimizer::sgd});
  EXPECT_FALSE(*floors(n, small, Precision::fp32).fits);
}

TEST(Floor, HoldsOnlyWhatIsCertainToRun) {
  // A branch that may not be taken is no part of a floor.
  const Counted c = counted([](Builder& b) {
    const TensorId input = x(b, {2, 3});
    const TensorId test = b.input("c", network::DataType::boolean, std::initializer_list<network::Dim>{});
    const network::GraphId heavy = b.begin_graph("heavy");
    b.output(b.add("MatMul", "product", {input, b.parameter("w", {3, 3})}));
    b.end_graph();
    const network::GraphId light = b.begin_graph("light");
    b.output(b.add("Relu", "relu", {input}));
    b.end_graph();
    return b.add("If", "if", {test}, {{"then_branch", heavy}, {"else_branch", light}});
  });
  const Needs n = needs(c.network, c.counts,
                        {.mode = Mode::infer, .precision = Precision::fp32, .optimizer = Optimizer::sgd});
  EXPECT_LE(n.products.value(), 2.0 * static_cast<double>(c.counts.forward.macs.low));
}

}  // namespace
}  // namespace plimsoll::estimate
