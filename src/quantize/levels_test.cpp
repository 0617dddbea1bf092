#include "quantize/levels.hpp"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>

namespace plimsoll::quantize {
namespace {

using ::testing::ElementsAre;

TEST(Levels, ReachOverTheRangeAndHoldZeroExactly) {
  const Levels relu = levels_of({0, 25.5});
  EXPECT_FLOAT_EQ(relu.scale, 0.1F);
  EXPECT_EQ(relu.zero, 0);
  const Levels both = levels_of({-1, 1.55});
  EXPECT_EQ(both.zero, 100);
  EXPECT_EQ(real_of(level_of(0, both), both), 0);
  EXPECT_EQ(level_of(-5, both), 0);
  EXPECT_EQ(level_of(9, both), 255);
  EXPECT_NEAR(real_of(level_of(0.777F, both), both), 0.777, both.scale / 2);
}

TEST(Levels, OfARangeWithoutZeroReachToIt) {
  EXPECT_EQ(levels_of({3, 5.1}).zero, 0);
  EXPECT_FLOAT_EQ(levels_of({3, 5.1}).scale, 0.02F);
  EXPECT_EQ(levels_of({-5.1, -3}).zero, 255);
}

TEST(Levels, OfNothingAreStillLevels) {
  EXPECT_EQ(levels_of({0, 0}), Levels());
  EXPECT_EQ(levels_of({0, std::numeric_limits<double>::infinity()}), Levels());
  EXPECT_EQ(levels_of({std::nan(""), 1}).zero, 0);
  EXPECT_EQ(level_of(std::nanf(""), {0.1F, 7}), 0);
}

TEST(Levels, HalvesGoToTheEvenOne) {
  EXPECT_EQ(level_of(0.5F, {1, 0}), 0);
  EXPECT_EQ(level_of(1.5F, {1, 0}), 2);
}

TEST(WeightLevels, EachChannelHasItsOwnScale) {
  const float rows[] = {1, -0.5F, 100, 50};
  const WeightLevels w = quantize_weight(rows, {1, 2, 2}, kMostLevel);
  EXPECT_THAT(w.levels, ElementsAre(127, -64, 127, 64));
  EXPECT_FLOAT_EQ(w.scales[0], 1.0F / 127);
  EXPECT_FLOAT_EQ(w.scales[1], 100.0F / 127);
  // The same weight with a column per output.
  const float columns[] = {1, 100, -0.5F, 50};
  const WeightLevels turned = quantize_weight(columns, {2, 2, 1}, kMostLevel);
  EXPECT_THAT(turned.levels, ElementsAre(127, 127, -64, 64));
  EXPECT_EQ(turned.scales, w.scales);
}

TEST(WeightLevels, SevenBitsDoNotSaturateASumOfTwoProducts) {
  const float weight[] = {1, -1};
  const WeightLevels w = quantize_weight(weight, {1, 1, 2}, kMostReducedLevel);
  EXPECT_THAT(w.levels, ElementsAre(63, -63));
  EXPECT_LE(2 * 255 * kMostReducedLevel, std::numeric_limits<std::int16_t>::max());
}

TEST(WeightLevels, AChannelOfZerosIsZero) {
  const float weight[] = {0, 0, 3, 1};
  const WeightLevels w = quantize_weight(weight, {1, 2, 2}, kMostLevel);
  EXPECT_EQ(w.levels[0], 0);
  EXPECT_GT(w.scales[0], 0);
}

TEST(BiasLevels, OfAChannelWithNextToNoWeightsFit) {
  const float weight[] = {1e-9F};
  const float floors[] = {bias_scale_floor(3, 0.02F)};
  const WeightLevels w = quantize_weight(weight, {1, 1, 1}, kMostLevel, floors);
  const std::int32_t level = bias_level(3, 0.02F, w.scales[0]);
  EXPECT_NEAR(static_cast<double>(level) * 0.02 * static_cast<double>(w.scales[0]), 3, 1e-5);
  EXPECT_EQ(bias_level(-1e30F, 1e-3F, 1e-3F), std::numeric_limits<std::int32_t>::min());
}

}  // namespace
}  // namespace plimsoll::quantize
