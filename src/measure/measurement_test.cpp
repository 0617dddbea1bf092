#include "measure/measurement.hpp"

#include <numeric>

#include <gtest/gtest.h>

namespace plimsoll::measure {
namespace {

TEST(Measurement, LoadIsTheMedianOverTheRows) {
  Measurement m;
  EXPECT_FALSE(load_of(m));
  for (const double seconds : {3.0, 1.0, 2.0}) {
    Row row;
    row.loaded.emplace();
    row.loaded->seconds = seconds;
    row.loaded->bytes = 100;
    m.rows.push_back(std::move(row));
  }
  m.rows.emplace_back();  // one that failed before it was loaded
  const auto load = load_of(m);
  ASSERT_TRUE(load);
  EXPECT_EQ(load->seconds, 2);
  EXPECT_EQ(load->bytes, Bytes(100));
}

TEST(Measurement, PercentilesAreKnownAsFarAsTheQueriesBear) {
  std::vector<double> latencies(400);
  std::iota(latencies.rbegin(), latencies.rend(), 1);
  const auto found = percentiles(latencies, 0.95);
  ASSERT_EQ(found.size(), 6U);
  EXPECT_EQ(found[0].seconds->value, 200);
  EXPECT_EQ(found[4].percent, 99);
  EXPECT_EQ(found[4].seconds->value, 396);
  EXPECT_FALSE(found[5].seconds) << "99.9 % needs 3,688 queries";
  for (const Percentile& p : percentiles({}, 0.95)) EXPECT_FALSE(p.seconds);
}

TEST(Measurement, ASceneIsItsWholePatches) {
  EXPECT_EQ((Scene{4512, 4512, 224, 224}).patches(), 400);
  EXPECT_EQ((Scene{447, 224, 224, 224}).patches(), 1);
  Row row;
  EXPECT_FALSE(scene_seconds(row, 0.95));
  row.latencies = job::Latencies{.seconds = {0.5}, .elapsed = 0.6, .samples = 400, .passes = 25};
  EXPECT_EQ(scene_seconds(row, 0.95), (Quantile{0.5, {}, {}}));
  row.latencies->seconds.clear();
  EXPECT_EQ(scene_seconds(row, 0.95)->value, 0.6);
}

}  // namespace
}  // namespace plimsoll::measure
