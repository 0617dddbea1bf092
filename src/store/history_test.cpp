#include "store/history.hpp"

#include <cmath>
#include <limits>

#include "store/test_store.hpp"

namespace plimsoll::store {
namespace {

using test::counting;

class History : public test::EveryStore {
 protected:
  /// All points, page by page.
  std::vector<Point> paged(const std::string& run, std::size_t limit) {
    std::vector<Point> out;
    std::string token;
    for (;;) {
      const Result<Page> page = store_->history_page(run, "m", token, limit);
      if (!page) ADD_FAILURE() << page.error().text();
      if (!page) return out;
      EXPECT_LE(page->points.size(), limit);
      out.insert(out.end(), page->points.begin(), page->points.end());
      if (!page->next) return out;
      EXPECT_EQ(page->points.size(), limit) << "only the last page is short";
      token = *page->next;
    }
  }
};

TEST_P(History, ShowsAPointOnceThoughItWasSentTwice) {
  const std::string id = new_run();
  const double nan = std::nan(""), other_nan = -std::nan("7");
  const std::vector<Point> points = {{1, 0, 0.5}, {1, 1, 0.5}, {2, 1, nan}, {3, 1, 1}};
  const std::vector<Point> again = {{1, 0, 0.5}, {2, 1, other_nan}, {1, 0, 0.25}};
  ASSERT_TRUE(store_->append({{Batch{id, "m", {}, points}}}));
  ASSERT_TRUE(store_->append({{Batch{id, "m", {}, points}}}));
  ASSERT_TRUE(store_->append({{Batch{id, "m", {}, again}}}));
  const auto check = [&] {
    const std::vector<Point> seen = *store_->history(id, "m");
    ASSERT_EQ(seen.size(), 5U);
    EXPECT_EQ(seen[2], (Point{1, 0, 0.25})) << "another value is another point";
    EXPECT_TRUE(std::isnan(seen[3].value));
    EXPECT_EQ(paged(id, 2).size(), 5U);
  };
  check();
  ASSERT_TRUE(store_->compact(id));
  check();
  EXPECT_EQ(store_->find(id)->metrics.at("m").points, 5) << "dropped when chunks are joined";
}

TEST_P(History, DropsRepeatedBatchesOfManyPointsOfOneTime) {
  const std::string id = new_run();
  std::vector<Point> points;
  for (int i = 0; i < 1000; ++i) points.push_back({7, i, 0.5 * i});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(store_->append({{Batch{id, "m", {}, points}}}));
  EXPECT_EQ(store_->history(id, "m"), points);
}

TEST_P(History, ComesInPagesInTheOrderOfTimeStepAndValue) {
  const std::string id = new_run();
  const double infinity = std::numeric_limits<double>::infinity();
  ASSERT_TRUE(store_->append({{Batch{id, "m", {}, {{2, 5, 1}, {1, 9, 3}, {2, 4, infinity}}}}}));
  ASSERT_TRUE(store_->append({{Batch{id, "m", {}, {{2, 4, -1}, {2, 4, 7}, {3, 0, 0}}}}}));
  const std::vector<Point> expected = {{1, 9, 3},        {2, 4, -1}, {2, 4, 7},
                                       {2, 4, infinity}, {2, 5, 1},  {3, 0, 0}};
  for (const std::size_t limit : {1U, 2U, 5U, 6U, 7U}) EXPECT_EQ(paged(id, limit), expected) << limit;
  EXPECT_FALSE(store_->history_page(id, "m", "nonsense", 10));
  EXPECT_FALSE(store_->history_page(id, "m", "1:2", 10));
  EXPECT_FALSE(store_->history_page(id, "m", "1:2:3:4", 10));
  EXPECT_FALSE(store_->history_page(id, "m", "", 0));
  EXPECT_TRUE(store_->history_page(id, "absent", "", 10)->points.empty());
}

TEST_P(History, OfManyChunksComesInPagesToo) {
  const std::string id = new_run();
  for (int i = 0; i < 30; ++i) {
    // Every other batch comes late.
    const int at = i % 2 == 0 ? i + 1 : i - 1;
    ASSERT_TRUE(store_->append({{Batch{id, "m", {}, counting(at * 700, 700)}}}));
  }
  for (const std::size_t limit : {1000U, 2500U, 25'000U})
    EXPECT_EQ(paged(id, limit), counting(0, 21'000)) << limit;
}

TEST_P(History, HasAnOutlineThatKeepsMinimumMaximumAndMean) {
  const std::string id = new_run();
  constexpr std::int64_t kTotal = 100'000;
  std::vector<Point> points = counting(0, kTotal);
  points[31'415].value = 1e9;
  points[27'182].value = -1e9;
  ASSERT_TRUE(store_->append({{Batch{id, "m", {}, points}}}));
  for (const std::size_t most : {1U, 7U, 100U, 2500U}) {
    const Result<std::vector<Span>> outline = store_->outline(id, "m", most);
    ASSERT_TRUE(outline) << outline.error().text();
    EXPECT_LE(outline->size(), most);
    EXPECT_GE(2 * outline->size(), most) << "and not much coarser than asked for";
    double minimum = 0, maximum = 0, sum = 0;
    std::int64_t count = 0, next_step = 0;
    for (const Span& span : *outline) {
      minimum = std::min(minimum, span.minimum);
      maximum = std::max(maximum, span.maximum);
      sum += span.mean * static_cast<double>(span.points);
      count += span.points;
      EXPECT_EQ(span.first_step, next_step);
      next_step = span.last_step + 1;
      EXPECT_EQ(span.first, points[static_cast<std::size_t>(span.first_step)].time);
      EXPECT_EQ(span.last, points[static_cast<std::size_t>(span.last_step)].time);
    }
    EXPECT_EQ(minimum, -1e9);
    EXPECT_EQ(maximum, 1e9);
    EXPECT_EQ(count, kTotal);
    const double expected = 0.5 * (kTotal - 1) * kTotal - 31'415 - 27'182;
    EXPECT_NEAR(sum, expected, 1e-6 * expected);
  }
}

TEST_P(History, IsOutlinedWithinASpanOfTime) {
  const std::string id = new_run();
  ASSERT_TRUE(store_->append({{Batch{id, "m", {}, counting(0, 50'000)}}}));
  const Time from = counting(10'001, 1)[0].time, to = counting(40'002, 1)[0].time;
  for (const std::size_t most : {10U, 100'000U}) {
    const std::vector<Span> outline = *store_->outline(id, "m", most, from, to);
    EXPECT_EQ(outline.front().first, from);
    EXPECT_EQ(outline.back().last, to);
    std::int64_t points = 0;
    for (const Span& span : outline) points += span.points;
    EXPECT_EQ(points, 30'002);
  }
  EXPECT_TRUE(store_->outline(id, "m", 10, to, from)->empty());
  EXPECT_TRUE(store_->outline(id, "absent", 10)->empty());
  EXPECT_FALSE(store_->outline(id, "m", 0));
}

TEST_P(History, OutlinesWhatIsNoNumber) {
  const std::string id = new_run();
  const double nan = std::nan("");
  ASSERT_TRUE(store_->append({{Batch{id, "m", {}, {{1, 0, nan}, {2, 1, nan}, {3, 2, 5}, {4, 3, nan}}}}}));
  const std::vector<Span> two = *store_->outline(id, "m", 2);
  ASSERT_EQ(two.size(), 2U);
  EXPECT_TRUE(std::isnan(two[0].minimum) && std::isnan(two[0].maximum) && std::isnan(two[0].mean));
  EXPECT_EQ(two[0].points, 2);
  EXPECT_EQ(two[1].mean, 5);
  EXPECT_EQ(two[1].minimum, 5);
}

TEST_P(History, IsSampledEvenlyByStep) {
  const std::string id = new_run();
  constexpr std::int64_t kTotal = 50'000;
  const std::vector<Point> points = counting(0, kTotal);
  ASSERT_TRUE(store_->append({{Batch{id, "m", {}, points}}}));
  for (const std::int64_t most : {2, 10, 390, 391, 392, 2500}) {  // 391 blocks
    const std::vector<Point> sample = *store_->sample(id, "m", static_cast<std::size_t>(most));
    ASSERT_EQ(sample.size(), most);
    EXPECT_EQ(sample.front(), points.front());
    EXPECT_EQ(sample.back(), points.back());
    for (std::int64_t i = 0; i + 1 < most; ++i) {
      const Point& p = sample[static_cast<std::size_t>(i)];
      EXPECT_EQ(p, points[static_cast<std::size_t>(p.step)]) << "no point that was not logged";
      EXPECT_NEAR(static_cast<double>(p.step), static_cast<double>(i * kTotal / most), 2 * 128) << most;
    }
  }
}

TEST_P(History, IsSampledWithinASpanOfSteps) {
  const std::string id = new_run();
  const std::vector<Point> points = counting(0, 50'000);
  ASSERT_TRUE(store_->append({{Batch{id, "m", {}, points}}}));
  for (const std::size_t most : {2U, 10U, 200U, 100'000U}) {
    const std::vector<Point> sample = *store_->sample(id, "m", most, {10'001, 40'002});
    EXPECT_EQ(sample.size(), std::min<std::size_t>(most, 30'002));
    EXPECT_EQ(sample.front().step, 10'001);
    EXPECT_EQ(sample.back().step, 40'002);
    EXPECT_TRUE(std::ranges::is_sorted(sample, {}, &Point::step));
  }
  EXPECT_EQ(store_->sample(id, "m", 10, {49'999, 80'000})->size(), 1U);
  EXPECT_TRUE(store_->sample(id, "m", 10, {50'000, 80'000})->empty());
  EXPECT_TRUE(store_->sample(id, "absent", 10)->empty());
  EXPECT_FALSE(store_->sample(id, "m", 0));
}

TEST_P(History, IsSampledByStepWhereTimesRunTheOtherWay) {
  const std::string id = new_run();
  std::vector<Point> points = counting(0, 20'000);
  for (Point& p : points) p.step = 19'999 - p.step;
  ASSERT_TRUE(store_->append({{Batch{id, "m", {}, points}}}));
  const std::vector<Point> sample = *store_->sample(id, "m", 100);
  ASSERT_EQ(sample.size(), 100U);
  EXPECT_EQ(sample.front(), points.back());
  EXPECT_EQ(sample.back(), points.front());
  EXPECT_TRUE(std::ranges::is_sorted(sample, {}, &Point::step));
}

TEST_P(History, IsJoinedInTheBackground) {
  const std::string id = new_run();
  EXPECT_EQ(store_->maintain({}), false);
  for (int i = 0; i < 100; ++i)
    ASSERT_TRUE(
        store_->append({{Batch{id, "m", {}, counting(i * 10, 10)}, Batch{id, "n", {}, counting(i, 1)}}}));
  int slices = 0;
  while (*store_->maintain({})) ASSERT_LT(++slices, 10);
  EXPECT_EQ(slices, 2) << "one for each metric";
  EXPECT_EQ(store_->history(id, "m"), counting(0, 1000));
  EXPECT_EQ(store_->history(id, "n"), counting(0, 100));
}

TEST_P(History, IsLeftAloneInTheBackgroundWhereMoreMayCome) {
  const std::string id = new_run();
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(store_->append({{Batch{id, "m", {}, counting(i, 1)}}}));
  EXPECT_EQ(store_->maintain(std::chrono::hours(1)), false);
  EXPECT_EQ(store_->maintain({}), true);
  EXPECT_EQ(store_->history(id, "m"), counting(0, 100));
}

TEST_P(History, OfManyMetricsThatGrowTogetherIsJoinedBitByBit) {
  const std::string id = new_run();
  std::vector<std::string> names;
  for (int m = 0; m < 20; ++m) names.push_back("m" + std::to_string(m));
  for (int i = 0; i < 600; ++i) {
    std::vector<Batch> batches;
    for (const std::string& name : names) batches.push_back({id, name, {}, counting(i, 1)});
    ASSERT_TRUE(store_->append(batches));
  }
  for (const std::string& name : names) EXPECT_EQ(store_->history(id, name), counting(0, 600)) << name;
}

/// What is sampled of a machine has no steps.
TEST_P(History, ASampleOfPointsWithoutStepsHasTheFirstAndTheLast) {
  const std::string id = new_run();
  std::vector<Point> points = counting(0, 20'000);
  for (Point& point : points) point.step = 0;
  ASSERT_TRUE(store_->append({{Batch{id, "m", {}, points}}}));
  const std::vector<Point> sample = *store_->sample(id, "m", 10);
  ASSERT_FALSE(sample.empty());
  EXPECT_EQ(sample.front(), points.front());
  EXPECT_EQ(sample.back(), points.back());
}

PLIMSOLL_IN_EVERY_STORE(History);

}  // namespace
}  // namespace plimsoll::store
