#include "diagnose/series.hpp"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::diagnose {
namespace {

using ::testing::DoubleEq;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Optional;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// Points a second apart from second 1, without those that are no number.
Series every_second(const std::vector<double>& values, const SeriesOptions& options = {}) {
  std::vector<store::Point> points;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!std::isnan(values[i])) points.push_back({static_cast<store::Time>(i + 1) * 1'000'000, 0, values[i]});
  return make_series(points, options);
}

TEST(Series, ASampleStandsForTheTimeSinceTheOneBefore) {
  const Series series = every_second({1, 2, 4});
  EXPECT_EQ(series.period, 1);
  EXPECT_EQ(series.samples[0].span, (Span{0, 1}));
  EXPECT_EQ(series.samples[2].span, (Span{2, 3}));
  const std::optional<Average> mean = average(series, {0.5, 2.25});
  ASSERT_TRUE(mean);
  EXPECT_DOUBLE_EQ(mean->mean, (0.5 * 1 + 1 * 2 + 0.25 * 4) / 1.75);
  EXPECT_EQ(mean->low, 1);
  EXPECT_EQ(mean->high, 4);
  EXPECT_DOUBLE_EQ(mean->seconds, 1.75);
}

TEST(Series, EveryPointOfAnOwnMetricCountsTheSameTheFirstAmongThem) {
  const std::vector<store::Point> points = {{2'000'000, 0, 0.5}, {3'000'000, 1, 0.65}, {9'000'000, 2, 0.8}};
  const Series series = make_series(points, {.kind = SeriesKind::own});
  const std::optional<Average> mean = average(series, {0, 10});
  ASSERT_TRUE(mean);
  EXPECT_DOUBLE_EQ(mean->mean, 0.65);
  EXPECT_EQ(mean->low, 0.5);
  EXPECT_EQ(mean->high, 0.8);
  EXPECT_EQ(mean->points, 3);
  EXPECT_DOUBLE_EQ(mean->seconds, 7);
  EXPECT_DOUBLE_EQ(average(series, Span{2, 3})->mean, 0.575);  // both ends belong to it
  EXPECT_DOUBLE_EQ(average(series, Span{8, 10})->mean, 0.8);   // a single point is its own mean
  EXPECT_EQ(average(series, Span{4, 8}), std::nullopt);
}

TEST(Series, JoiningOwnPointsKeepsTheirMean) {
  std::vector<store::Point> points;
  double sum = 0;
  for (int i = 0; i < 1000; ++i) {
    points.push_back({std::int64_t{i} * i * 1000, i, 1.0 * i});  // ever further apart
    sum += i;
  }
  points.push_back({1'000'000'000, 1000, kNone});
  const Series series = make_series(points, {.kind = SeriesKind::own, .most_samples = 50});
  EXPECT_LE(series.samples.size(), 50u);
  const std::optional<Average> mean = average(series, {0, 2000});
  ASSERT_TRUE(mean);
  EXPECT_THAT(mean->mean, DoubleNear(sum / 1000, 1e-9));
  EXPECT_EQ(mean->low, 0);
  EXPECT_EQ(mean->high, 999);
}

/// Epochs and the like are steps: between 1 and 2 there is nothing.
TEST(Series, JoiningWhatCountsUpKeepsWholeNumbers) {
  std::vector<store::Point> points;
  for (int i = 0; i < 1000; ++i) points.push_back({std::int64_t{i} * 1000, i, 1.0 + i / 300});
  const Series epochs = make_series(points, {.kind = SeriesKind::own, .most_samples = 70});
  EXPECT_LE(epochs.samples.size(), 70u);
  for (const Sample& sample : epochs.samples) EXPECT_EQ(sample.value, std::floor(sample.value));
  EXPECT_EQ(epochs.samples.back().value, 4);
  EXPECT_TRUE(epochs.counts);
  EXPECT_FALSE(
      make_series(std::vector<store::Point>{{0, 0, 2}, {1, 1, 1}}, {.kind = SeriesKind::own}).counts);
}

TEST(Series, AGapIsNotKnown) {
  // Seconds 5 to 9 are missing: longer than one lost sample or two would make it.
  const Series series = every_second({1, 1, 1, 1, kNone, kNone, kNone, kNone, kNone, 9, 9});
  EXPECT_EQ(series.samples[4].span, (Span{9, 10}));
  EXPECT_EQ(average(series, Span{4.5, 8.5}), std::nullopt);
  const std::optional<Average> mean = average(series, {3, 10});
  ASSERT_TRUE(mean);
  EXPECT_DOUBLE_EQ(mean->mean, 5);
  EXPECT_DOUBLE_EQ(mean->seconds, 2);
}

TEST(Series, ASingleLateSampleIsNoGapUnlessDeclared) {
  const std::vector<double> values = {1, 1, 1, kNone, 5, 5};
  EXPECT_EQ(every_second(values).samples[3].span, (Span{3, 5}));
  EXPECT_EQ(every_second(values, {.gaps = {{3, 5}}}).samples[3].span, (Span{4, 5}));
}

TEST(Series, WhatIsReadWhenThereIsNewsHasNoGapsButDeclaredOnes) {
  const std::vector<double> values = {1, 1, 1, 1, kNone, kNone, kNone, kNone, kNone, 9, 9};
  EXPECT_EQ(every_second(values, {.irregular = true}).samples[4].span, (Span{4, 10}));
  EXPECT_EQ(every_second(values, {.gaps = {{4, 10}}, .irregular = true}).samples[4].span, (Span{9, 10}));
}

TEST(Series, CountersAreInterpolatedAndGoOnWhereTheyBeginAnew) {
  const Series counter = every_second({10, 20, 40, 5, 15}, {.kind = SeriesKind::counter});
  EXPECT_THAT(increase(counter, {1.5, 2.5}), Optional(DoubleEq(15)));
  EXPECT_THAT(increase(counter, {1, 5}), Optional(DoubleEq(45)));  // 10 → 40, then 5 and 15 on top
  EXPECT_EQ(increase(counter, {1, 20}), std::nullopt);
  const std::optional<Growth> known = growth(counter, {0, 20});
  ASSERT_TRUE(known);
  EXPECT_DOUBLE_EQ(known->amount, 45);
  EXPECT_EQ(known->span, (Span{1, 5}));
}

TEST(Series, ACounterIsNotKnownWithinAGapButOverIt) {
  const Series counter = every_second({0, 10, 20, 30, kNone, kNone, kNone, kNone, kNone, 90, 100},
                                      {.kind = SeriesKind::counter});
  EXPECT_EQ(increase(counter, {1, 6}), std::nullopt);
  EXPECT_EQ(increase(counter, {6, 10}), std::nullopt);
  EXPECT_THAT(increase(counter, {1, 10}), Optional(DoubleEq(90)));
  EXPECT_THAT(growth(counter, {1, 6})->amount, DoubleEq(30));
}

TEST(Series, ReducedKeepsMeansExtremesAndGaps) {
  std::vector<double> values(10000, 1.0);
  values[5000] = 100;
  for (std::size_t i = 7000; i < 7050; ++i) values[i] = kNone;
  const Series all = every_second(values);
  const Series few = reduced(all, 100);
  EXPECT_LE(few.samples.size(), 100u);
  EXPECT_GT(few.samples.size(), 90u);
  EXPECT_EQ(few.points, all.points);
  const std::optional<Average> before = average(all, {0, 10000}), after = average(few, {0, 10000});
  ASSERT_TRUE(before && after);
  EXPECT_THAT(after->mean, DoubleNear(before->mean, 1e-9));
  EXPECT_EQ(after->high, 100);
  EXPECT_EQ(after->low, 1);
  EXPECT_THAT(after->seconds, DoubleNear(10000 - 49 - 1, 1e-6));
  EXPECT_EQ(average(few, Span{7005, 7045}), std::nullopt);
  std::int64_t points = 0;
  for (const Sample& sample : few.samples) points += sample.points;
  EXPECT_EQ(points, all.points);
}

TEST(Series, ReducedIsAPromiseEvenForManyGapsAndForOneMoment) {
  std::vector<double> holes;
  for (int i = 0; i < 4000; ++i)
    holes.insert(holes.end(), {1, 1, 1, 1, 1, kNone, kNone, kNone, kNone, kNone});
  EXPECT_LE(reduced(every_second(holes), 500).samples.size(), 500u);
  const std::vector<store::Point> same(3000, store::Point{5'000'000, 1, 2});
  EXPECT_LE(make_series(same, {.most_samples = 10}).samples.size(), 10u);
}

TEST(Series, FlagsAreJoinedBitByBit) {
  const Series flags = reduced(every_second({1, 4, 4, 0x80, 0, 0}, {.kind = SeriesKind::flags}), 2);
  ASSERT_EQ(flags.samples.size(), 2u);
  EXPECT_EQ(flags.samples[0].value, 5);
  EXPECT_EQ(flags.samples[1].value, 0x80);
}

TEST(Series, WhatIsNoNumberIsLeftOutOfMeans) {
  const std::vector<store::Point> points = {{1'000'000, 0, 1}, {2'000'000, 1, kNone}, {3'000'000, 2, 3}};
  const Series series = make_series(points, {});
  EXPECT_EQ(series.samples.size(), 3u);
  const std::optional<Average> mean = average(series, {0, 3});
  ASSERT_TRUE(mean);
  EXPECT_DOUBLE_EQ(mean->mean, 2);
  EXPECT_DOUBLE_EQ(mean->seconds, 2);
}

TEST(Series, TimesFromOutsideStayInOrder) {
  const std::vector<store::Point> points = {{std::numeric_limits<store::Time>::max(), 0, 1},
                                            {std::numeric_limits<store::Time>::min(), 0, 2},
                                            {0, 0, 3}};
  const Series series = make_series(points, {.start = std::numeric_limits<store::Time>::min() / 2});
  EXPECT_EQ(series.samples.front().value, 2);
  EXPECT_EQ(series.samples.front().span.to, 0);
  EXPECT_EQ(series.samples.back().value, 1);
}

TEST(Series, SpansBelowAndFrom) {
  const Series series = every_second({0, 0, 1, 0, 1, 1});
  EXPECT_THAT(spans_below(series, 0.5, {0.5, 6}), ElementsAre(Span{0.5, 2}, Span{3, 4}));
  EXPECT_THAT(spans_from(series, 0.5, {0, 5.5}), ElementsAre(Span{2, 3}, Span{4, 5.5}));
  EXPECT_DOUBLE_EQ(seconds(spans_below(series, 0.5, {0.5, 6})), 2.5);
}

TEST(Series, OfNothingAndOfOne) {
  EXPECT_EQ(average(Series{}, Span{0, 1}), std::nullopt);
  EXPECT_EQ(increase(Series{}, {0, 1}), std::nullopt);
  EXPECT_EQ(growth(every_second({1}), {0, 1}), std::nullopt);
  EXPECT_EQ(average(every_second({1}), Span{0, 2}), std::nullopt);  // one moment: no time that it stands for
}

}  // namespace
}  // namespace plimsoll::diagnose
