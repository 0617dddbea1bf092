#include "store/sampling.hpp"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::store {
namespace {

using testing::ElementsAre;

std::vector<std::int64_t> steps(std::size_t points, std::size_t most) {
  std::vector<Point> all;
  for (std::size_t i = 0; i < points; ++i)
    all.push_back({.time = 1, .step = static_cast<std::int64_t>(i), .value = 10});
  std::vector<std::int64_t> out;
  for (const Point& point : sampled(all, most)) out.push_back(point.step);
  return out;
}

TEST(Sampling, KeepsTheFirstOfEachTileAndTheLast) {
  EXPECT_THAT(steps(10, 5), ElementsAre(0, 2, 4, 6, 9));  // as MLflow's own tests expect
  EXPECT_THAT(steps(20, 5), ElementsAre(0, 4, 8, 12, 19));
  EXPECT_THAT(steps(7, 3), ElementsAre(0, 3, 6));
  EXPECT_THAT(steps(5, 5), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(steps(5, 1), ElementsAre(4));
  EXPECT_THAT(steps(0, 5), ElementsAre());
}

TEST(Sampling, OrdersByStepThenTimeThenValue) {
  const std::vector<Point> out = sampled({{.time = 2, .step = 1, .value = std::nan("")},
                                          {.time = 2, .step = 1, .value = 5},
                                          {.time = 9, .step = 0, .value = 1}},
                                         10);
  ASSERT_EQ(out.size(), 3U);
  EXPECT_EQ(out[0].step, 0);
  EXPECT_EQ(out[1].value, 5);
  EXPECT_TRUE(std::isnan(out[2].value));
}

}  // namespace
}  // namespace plimsoll::store
