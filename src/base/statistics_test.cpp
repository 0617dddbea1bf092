#include "base/statistics.hpp"

#include <cmath>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

namespace plimsoll {
namespace {

TEST(Statistics, TheMedianIsTheMiddle) {
  EXPECT_EQ(median(std::vector{3.0, 1.0, 2.0}), 2);
  EXPECT_EQ(median(std::vector{4.0, 1.0, 2.0, 3.0}), 2.5);
  EXPECT_TRUE(std::isnan(median({})));
}

struct Known {
  std::size_t samples;
  double quantile, confidence;
  RankInterval ranks;
};
class KnownRanks : public testing::TestWithParam<Known> {};

TEST_P(KnownRanks, AreThoseOfTheTables) {
  const Known& known = GetParam();
  EXPECT_EQ(quantile_ranks(known.samples, known.quantile, known.confidence), known.ranks)
      << known.samples << " " << known.quantile;
}

// Medians: the sign test's table (Conover, Practical Nonparametric Statistics, A3): of 10: 2 and 9, of 20: 6
// and 15, of 50: 18 and 33, of 100: 40 and 61. Below 6 samples there is no interval at 95 %. The 99th
// percentile has an upper end once 1 - 0.99^n >= 0.975, from 368 on.
INSTANTIATE_TEST_SUITE_P(Tables, KnownRanks,
                         testing::Values(Known{5, 0.5, 0.95, {0, 0}}, Known{6, 0.5, 0.95, {1, 6}},
                                         Known{10, 0.5, 0.95, {2, 9}}, Known{20, 0.5, 0.95, {6, 15}},
                                         Known{20, 0.5, 0.99, {4, 17}}, Known{50, 0.5, 0.95, {18, 33}},
                                         Known{100, 0.5, 0.95, {40, 61}}, Known{367, 0.99, 0.95, {359, 0}},
                                         Known{368, 0.99, 0.95, {360, 368}}, Known{0, 0.5, 0.95, {0, 0}},
                                         Known{10, 1, 0.95, {0, 0}}));

/// By the definition, term by term.
double share_at_most(std::size_t n, double p, std::size_t k) {
  double sum = 0;
  for (std::size_t i = 0; i <= k; ++i) {
    double term = 1;
    for (std::size_t j = 0; j < i; ++j) term *= static_cast<double>(n - j) / static_cast<double>(i - j) * p;
    sum += term * std::pow(1 - p, static_cast<double>(n - i));
  }
  return sum;
}

TEST(Statistics, RanksAreTheTightestThatKeepBothTails) {
  for (const std::size_t n : {7U, 23U, 60U})
    for (const double q : {0.1, 0.5, 0.9}) {
      const RankInterval ranks = quantile_ranks(n, q, 0.9);
      if (ranks.low > 0) {
        EXPECT_LE(share_at_most(n, q, ranks.low - 1), 0.05 + 1e-12);
        EXPECT_GT(share_at_most(n, q, ranks.low), 0.05);
      }
      if (ranks.high > 0) {
        EXPECT_GE(share_at_most(n, q, ranks.high - 1), 0.95 - 1e-12);
        if (ranks.high > 1) {
          EXPECT_LT(share_at_most(n, q, ranks.high - 2), 0.95);
        }
      }
    }
}

TEST(Statistics, RanksOfManySamplesApproachTheNormalOnes) {
  const RankInterval ranks = quantile_ranks(1'000'000, 0.5, 0.95);
  EXPECT_NEAR(static_cast<double>(ranks.low), 500'000 - 1.96 * 500, 2);
  EXPECT_NEAR(static_cast<double>(ranks.high), 500'000 + 1.96 * 500, 2);
}

TEST(Statistics, AQuantileIsASampleBetweenTwoOthers) {
  std::vector<double> sorted(100);
  std::iota(sorted.begin(), sorted.end(), 1);
  EXPECT_EQ(quantile_of(sorted, 0.9, 0.95), (Quantile{90, 84, 96}));
  EXPECT_EQ(quantile_of(sorted, 0.999, 0.95).value, 100);
  EXPECT_EQ(quantile_of(sorted, 0.999, 0.95).high, std::nullopt);
  EXPECT_EQ(median_of(sorted, 0.95), (Quantile{50.5, 40, 61}));
  EXPECT_DOUBLE_EQ(*relative_width(median_of(sorted, 0.95)), 21 / 50.5);
  EXPECT_EQ(relative_width(median_of(std::vector{1.0}, 0.95)), std::nullopt);
}

TEST(Statistics, TheMediansIntervalCoversItAsOftenAsItSays) {
  std::mt19937_64 random(1);
  std::exponential_distribution<double> skewed(1);
  int covered = 0;
  constexpr int kTimes = 2000;
  for (int i = 0; i < kTimes; ++i) {
    std::vector<double> samples(25);
    for (double& x : samples) x = skewed(random);
    const Quantile found = median_of(samples, 0.95);
    if (*found.low <= std::log(2) && std::log(2) <= *found.high) ++covered;
  }
  EXPECT_GE(covered, kTimes * 0.94);
}

std::vector<double> noisy(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> noise(1, 0.01);
  std::vector<double> samples(count);
  for (double& x : samples) x = noise(random);
  return samples;
}

TEST(Statistics, WarmUpEndsWhereTheSeriesLevelsOff) {
  std::vector<double> samples = noisy(40, 1);
  samples[0] = 20;
  samples[1] = 3;
  samples[2] = 1.5;
  EXPECT_EQ(warm_up(samples), 3U);
  std::vector<double> many = noisy(400, 2);
  for (std::size_t i = 0; i < 23; ++i) many[i] += 1.0 / static_cast<double>(i + 1);
  const auto dropped = warm_up(many);
  ASSERT_TRUE(dropped);
  EXPECT_GE(*dropped, 20U);
  EXPECT_LE(*dropped, 100U);
}

TEST(Statistics, NothingIsDroppedOfEqualSamples) {
  EXPECT_EQ(warm_up(std::vector<double>(12, 0.1)), 0U);
  EXPECT_EQ(warm_up(std::vector<double>(100, 0.1)), 0U);
}

TEST(Statistics, ASeriesThatStillFallsIsNotSteady) {
  std::vector<double> falling(30);
  for (std::size_t i = 0; i < falling.size(); ++i) falling[i] = 10 - 0.3 * static_cast<double>(i);
  EXPECT_EQ(warm_up(falling), std::nullopt);
  EXPECT_EQ(warm_up(std::vector<double>(9, 1.0)), std::nullopt);
}

TEST(Statistics, AHiccupAmongManyIsNoWarmUp) {
  std::vector<double> samples(200, 1.0);
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i] += 0.001 * static_cast<double>(i % 7);
  const auto before = warm_up(samples);
  samples[90] = 50;
  EXPECT_EQ(warm_up(samples), before);
}

TEST(Statistics, StopsWhenNarrowLateOrMany) {
  const StoppingRule rule{.least_samples = 20, .most_samples = 200, .relative_width = 0.02, .seconds = 10};
  const std::vector<double> close = noisy(100, 3);
  EXPECT_EQ(stop(close, 1, rule), Stopped::narrow);
  EXPECT_EQ(stop(std::span(close).first(19), 1, rule), std::nullopt);
  EXPECT_EQ(stop(std::span(close).first(3), 10, rule), Stopped::time);
  EXPECT_EQ(stop({}, 100, rule), std::nullopt);
  std::vector<double> wide(250);
  for (std::size_t i = 0; i < wide.size(); ++i) wide[i] = 1 + static_cast<double>(i % 10);
  EXPECT_EQ(stop(std::span(wide).first(100), 1, rule), std::nullopt);
  EXPECT_EQ(stop(wide, 1, rule), Stopped::samples);
  EXPECT_EQ(next_look(20), 21U);
  EXPECT_EQ(next_look(1000), 1050U);
}

}  // namespace
}  // namespace plimsoll
