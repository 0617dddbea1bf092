#include "estimate/training.hpp"

#include <gtest/gtest.h>

namespace plimsoll::estimate {
namespace {

constexpr double kDay = 86400;
constexpr double kYear = 365.25 * kDay;

TEST(Training, StepsOfSamplesAndOfTokens) {
  const auto imagenet = steps_of({.samples = 1'281'167, .epochs = 90, .batch = 128});
  ASSERT_TRUE(imagenet);
  EXPECT_EQ(imagenet->per_epoch, 10'010) << "the last batch is not full, and a step";
  EXPECT_EQ(imagenet->all, 900'900);
  const auto tokens = steps_of({.tokens = 300e9, .batch = 1536, .sequence = 2048});
  ASSERT_TRUE(tokens);
  EXPECT_EQ(tokens->all, 95'368);
  EXPECT_EQ(tokens->per_epoch, std::nullopt);
  EXPECT_FALSE(steps_of({.batch = 8}));
  EXPECT_FALSE(steps_of({.samples = 10, .tokens = 10, .batch = 8}));
  EXPECT_FALSE(steps_of({.samples = 10, .batch = 0}));
}

// "355 years": 3.14e23 FLOP on one V100 at 28 TFLOP/s, its nominal FP16 rate outside the matrix units.
TEST(Training, GptThreeOnOneV100) {
  const Flops paper(3.14e23);
  const auto time = time_of({.work = paper, .useful = paper, .reached = FlopsPerSecond(28e12)});
  EXPECT_NEAR(time.time.value() / kYear, 355, 0.5);
  EXPECT_NEAR(time.device_hours * 1.50 / 1e6, 4.66, 0.02) << "at $1.50 an hour, millions";
  EXPECT_NEAR(training_flops(175e9, 300e9, Recomputation::none) / paper, 1.0, 0.005) << "6ND says 3.15e23";
  EXPECT_EQ(time.model_share, std::nullopt) << "no peak was given";
}

// Megatron's published figure: 175 B over 300 B tokens on 1,024 A100 at 140 TFLOP/s takes 34 days. The rate
// counts recomputed activations too, so the work is 8ND.
TEST(Training, OneHundredSeventyFiveBillionOnAThousandA100) {
  const auto time = time_of({.work = training_flops(175e9, 300e9, Recomputation::full),
                             .useful = training_flops(175e9, 300e9, Recomputation::none),
                             .devices = 1024,
                             .reached = FlopsPerSecond(140e12),
                             .peak = FlopsPerSecond(312e12)});
  EXPECT_NEAR(time.time.value() / kDay, 34, 0.2);
  EXPECT_NEAR(*time.hardware_share, 0.449, 0.001);
  EXPECT_NEAR(*time.model_share, 0.337, 0.001) << "three quarters: a quarter of the work is done twice";
}

TEST(Training, MegatronsCountHasAttentionAndTheHead) {
  const Decoder gpt3{.layers = 96, .hidden = 12288, .sequence = 2048, .vocabulary = 51200};
  const double parameters = 12.0 * 96 * 12288 * 12288;  // of the layers
  const double tokens = 1536.0 * 2048;
  const double plain = training_flops(parameters, tokens, Recomputation::none).value();
  EXPECT_NEAR(megatron_flops(gpt3, 1536, Recomputation::none).value() / plain,
              1 + 2048.0 / (6 * 12288) + 51200.0 / (12.0 * 96 * 12288), 1e-9);
  const double again = megatron_flops(gpt3, 1536, Recomputation::full).value();
  const double head = 6.0 * tokens * 12288 * 51200;
  EXPECT_NEAR((again - head) / (megatron_flops(gpt3, 1536, Recomputation::none).value() - head), 4.0 / 3,
              1e-9)
      << "all but the output layer is computed four times instead of three";
}

}  // namespace
}  // namespace plimsoll::estimate
