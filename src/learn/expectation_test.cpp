#include "learn/expectation.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace plimsoll::learn {
namespace {

TEST(Expectation, ErrorsOfAProductAddAsSquares) {
  const Interval three{10, 10 / std::exp(0.3), 10 * std::exp(0.3)};
  const Interval four{2, 2 / std::exp(0.4), 2 * std::exp(0.4)};
  const Interval both = product(three, four);
  EXPECT_DOUBLE_EQ(both.value, 20);
  EXPECT_NEAR(std::log(20 / *both.low), 0.5, 1e-12);
  EXPECT_NEAR(std::log(*both.high / 20), 0.5, 1e-12);
}

TEST(Expectation, WhatIsKnownForSureAddsNothing) {
  const Interval steps{1000, 900, 1200};
  const Interval time = expected_time(steps, {0.5});
  EXPECT_DOUBLE_EQ(time.value, 500);
  EXPECT_NEAR(*time.low, 450, 1e-9);
  EXPECT_NEAR(*time.high, 600, 1e-9);
  EXPECT_FALSE(expected_time({1000}, {0.5}).low);
}

TEST(Expectation, AStepsIntervalIsTakenToTheLevelOfTheSteps) {
  // The quantiles of 0.9 and 0.975 are 1.2816 and 1.9600.
  const Interval time = expected_time({100}, {1, std::exp(-0.196), std::exp(0.392)});
  EXPECT_NEAR(std::log(100 / *time.low), 0.12816, 1e-5);
  EXPECT_NEAR(std::log(*time.high / 100), 0.25631, 1e-5);
}

}  // namespace
}  // namespace plimsoll::learn
