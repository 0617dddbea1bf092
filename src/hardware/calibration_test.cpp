#include "hardware/calibration.hpp"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::hardware {
namespace {

using enum OperatorClass;

OperatorWork work(OperatorClass c, Extents extents, Direction direction = Direction::forward,
                  Arithmetic arithmetic = Arithmetic::fp32) {
  return work_of(completed({c, direction, arithmetic, extents}));
}

TEST(OperatorClasses, StandInTheirOrderWithNamesThatAreRead) {
  ASSERT_EQ(operator_classes().size(), static_cast<std::size_t>(kOperatorClasses));
  for (std::size_t i = 0; i < operator_classes().size(); ++i) {
    const OperatorClassRow& row = operator_classes()[i];
    EXPECT_EQ(static_cast<std::size_t>(row.operator_class), i);
    EXPECT_EQ(operator_class_named(name(row.operator_class)), row.operator_class);
    EXPECT_LE(extent_count(row.operator_class), kMaxExtents);
  }
  EXPECT_EQ(extent_count(convolution), 9u);
  EXPECT_EQ(extent_count(unary), 1u);
  EXPECT_EQ(operator_class_named("convolutions"), std::nullopt);
  EXPECT_EQ(direction_named("backward-weight"), Direction::backward_weight);
  EXPECT_EQ(direction_named("sideways"), std::nullopt);
}

TEST(OperatorWork, OfAConvolutionCountsItsWindowsOnce) {
  // 56x56, 3x3, padding 1, stride 2: 28x28 positions of 128 channels, 64 x 9 products each.
  const OperatorWork w = work(convolution, {2, 64, 56, 56, 128, 3, 3, 2, 1});
  EXPECT_DOUBLE_EQ(w.flops, 2.0 * 2 * 28 * 28 * 128 * 64 * 9);
  EXPECT_DOUBLE_EQ(w.bytes(), 4.0 * (2 * 64 * 56 * 56 + 128 * 64 * 9 + 2 * 128 * 28 * 28));
  const OperatorWork grouping = work(grouped, {2, 64, 56, 56, 128, 3, 3, 2, 32});
  EXPECT_DOUBLE_EQ(grouping.flops, w.flops / 32);
  EXPECT_DOUBLE_EQ(work(convolution, {2, 64, 56, 56, 128, 3, 3, 2, 1}, Direction::backward_weight).flops,
                   w.flops);
  EXPECT_DOUBLE_EQ(
      work(convolution, {2, 64, 56, 56, 128, 3, 3, 2, 1}, Direction::forward, Arithmetic::bf16).bytes(),
      w.bytes() / 2);
}

TEST(OperatorWork, OfAConvolutionWithoutPaddingIsOfWhatComesOut) {
  // 7x7 on 7x7: one position, where half a window of padding would give 49.
  Extents extents{2, 64, 7, 7, 128, 7, 7, 1, 1, 1, 1, 1, 1, 1};
  EXPECT_DOUBLE_EQ(work(convolution, extents).flops, 2.0 * 2 * 128 * 64 * 49);
  extents[conv::out_height] = extents[conv::out_width] = 0;
  EXPECT_DOUBLE_EQ(work(convolution, extents).flops, 2.0 * 2 * 49 * 128 * 64 * 49);
}

TEST(OperatorWork, ReadsAndWritesEachTensorOnce) {
  const double x = 2 * 64 * 56 * 56, w = 128 * 64 * 9, y = 2 * 128 * 28 * 28;
  const Extents extents{2, 64, 56, 56, 128, 3, 3, 2, 1};
  const auto of = [&](Direction direction) { return work(convolution, extents, direction); };
  EXPECT_DOUBLE_EQ(of(Direction::forward).bytes_written, 4 * y);
  EXPECT_DOUBLE_EQ(of(Direction::backward_input).bytes_read, 4 * (w + y));
  EXPECT_DOUBLE_EQ(of(Direction::backward_weight).bytes_written, 4 * w);
  EXPECT_DOUBLE_EQ(of(Direction::backward_weight).bytes_read, 4 * (x + y));
}

TEST(OperatorWork, OfProductsAndAttention) {
  EXPECT_DOUBLE_EQ(work(matrix, {8, 16, 32, 0}).flops, 2.0 * 8 * 16 * 32);
  EXPECT_DOUBLE_EQ(work(matrix, {8, 16, 32, 1}).flops, 2.0 * 8 * 16 * 32 + 8 * 16);  // the bias
  EXPECT_DOUBLE_EQ(work(matrix, {8, 16, 32, 1}).flops_at_peak(), 2.0 * 8 * 16 * 32);
  EXPECT_DOUBLE_EQ(work(matrix, {8, 16, 32, 1}).bytes(), 4.0 * (8 * 32 + 16 * 32 + 8 * 16 + 16));
  EXPECT_DOUBLE_EQ(work(matrix, {8, 16, 32, 0}).bytes(), 4.0 * (8 * 32 + 16 * 32 + 8 * 16));
  EXPECT_DOUBLE_EQ(work(batched, {3, 8, 16, 32}, Direction::backward_input).flops, 2 * 2.0 * 3 * 8 * 16 * 32);
  const OperatorWork all = work(attention, {2, 4, 64, 64, 32, 0});
  const double scores = 2 * 4 * 64 * 64;
  EXPECT_DOUBLE_EQ(all.flops_at_peak(), 4 * scores * 32);
  EXPECT_DOUBLE_EQ(all.flops, 4 * scores * 32 + 5 * scores);  // their softmax
  // Backward: five products for two, the softmax again and its gradient.
  const OperatorWork back = work(attention, {2, 4, 64, 64, 32, 0}, Direction::backward_input);
  EXPECT_DOUBLE_EQ(back.flops_at_peak(), 10 * scores * 32);
  EXPECT_DOUBLE_EQ(back.flops, 10 * scores * 32 + (5 + 4) * scores);
  EXPECT_DOUBLE_EQ(work(attention, {2, 4, 64, 64, 32, 1}).flops, all.flops / 2);
  EXPECT_DOUBLE_EQ(work(attention, {2, 4, 64, 64, 32, 2}).bytes(), all.bytes() + 2 * 64 * 64);
}

TEST(OperatorWork, OfGroupedAttentionSeesKeysUpToItsOwnToken) {
  const OperatorCase prompt{.operator_class = OperatorClass::grouped_attention,
                            .arithmetic = Arithmetic::bf16,
                            .extents = {2, 8, 2, 4, 4, 16}};
  EXPECT_EQ(work_of(prompt).macs, 2 * (2 * 8) * (1 + 2 + 3 + 4) * 16);
  OperatorCase step = prompt;
  step.extents = {2, 8, 2, 1, 100, 16};
  EXPECT_EQ(work_of(step).macs, 2 * (2 * 8) * 100 * 16);
  // Keys and values of two heads, once; queries and results of eight.
  EXPECT_EQ(work_of(step).bytes(), 2 * (2 * 2 * 2 * 100 * 16 + 2 * 2 * 8 * 16));
}

TEST(OperatorClasses, HaveTheirOtherLayout) {
  EXPECT_EQ(channels_last(OperatorClass::convolution), OperatorClass::convolution_channels_last);
  EXPECT_EQ(channels_first(OperatorClass::max_pool_channels_last), OperatorClass::max_pool);
  EXPECT_EQ(channels_last(OperatorClass::matrix), OperatorClass::matrix);
  for (const OperatorClassRow& row : operator_classes())
    EXPECT_EQ(channels_first(channels_last(row.operator_class)), channels_first(row.operator_class));
}

TEST(OperatorWork, IsFiniteAndNotNegativeForAnyExtents) {
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  for (const OperatorClassRow& row : operator_classes())
    for (const std::int64_t extent : {std::int64_t{-5}, std::int64_t{0}, std::int64_t{1}, kHuge})
      for (const Direction direction : {Direction::forward, Direction::backward_input}) {
        Extents extents;
        extents.fill(extent);
        const OperatorWork w = work_of({row.operator_class, direction, Arithmetic::fp32, extents});
        static_cast<void>(completed({row.operator_class, direction, Arithmetic::fp32, extents}));
        EXPECT_TRUE(std::isfinite(w.flops) && w.flops >= 0) << row.name << ' ' << extent;
        EXPECT_TRUE(std::isfinite(w.bytes()) && w.bytes() >= 0) << row.name << ' ' << extent;
      }
}

}  // namespace
}  // namespace plimsoll::hardware
