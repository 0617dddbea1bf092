#include "plan/schedule/ahead.hpp"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::plan::schedule {
namespace {

using testing::ElementsAre;

class Ahead : public testing::Test {
 protected:
  // One that computes, a service, and one that starts up. Each has an equal part of the GPU.
  Instance instance_{.kinds = {{.name = "short"}, {.name = "service", .serves = true}, {.name = "new"}},
                     .jobs = {{.name = "a", .kind = 0}, {.name = "b", .kind = 1}, {.name = "c", .kind = 2}},
                     .setups = {{.way = share::Way::mps}},
                     .places = {{.name = "0"}}};
  PlaceState state_{.running = {{.job = 0, .kind = 0, .left = 4},
                                {.job = 1, .kind = 1},
                                {.job = 2, .kind = 2, .left = 3, .starting = 5}},
                    .kinds = {0, 1, 2},
                    .at = 100};
  Rates parts_{[](std::span<const std::uint32_t> kinds, std::size_t) {
    return GroupRates{.speeds = std::vector<double>(kinds.size(), 1.0 / static_cast<double>(kinds.size()))};
  }};
  std::vector<std::uint32_t> in(double later, double now = 100) {
    return kinds_ahead(instance_, instance_.places[0], state_, now, later, parts_);
  }
};

TEST_F(Ahead, WorkAndStartUpsAreLeftAndServicesHaveNoEnd) {
  const auto left = seconds_left(instance_, instance_.places[0], state_, 102, parts_);
  ASSERT_EQ(left.size(), 3);
  EXPECT_NEAR(left[0], 6, 1e-9);  // half is the service's, and 2 have passed
  EXPECT_TRUE(std::isinf(left[1]));
  EXPECT_NEAR(left[2], 12, 1e-9);  // 5 of its start-up and 9 beside the others, of which 2 have passed
}

TEST_F(Ahead, WhatWasSeenIsBelievedBeforeWhatIsTold) {
  state_.running[0].seen = 0.8;
  EXPECT_NEAR(seconds_left(instance_, instance_.places[0], state_, 100, parts_)[0], 5, 1e-9);
  state_.running[2].seen = 0.8;  // it does not compute yet
  EXPECT_NEAR(seconds_left(instance_, instance_.places[0], state_, 100, parts_)[2], 14, 1e-9);
}

TEST_F(Ahead, NoLargeGroupIsSimulatedForIt) {
  std::size_t largest = 0;
  Rates counted([&](std::span<const std::uint32_t> kinds, std::size_t) {
    largest = std::max(largest, kinds.size());
    return GroupRates{.speeds = std::vector<double>(kinds.size(), 0.5)};
  });
  EXPECT_EQ(seconds_left(instance_, instance_.places[0], state_, 100, counted).size(), 3);
  EXPECT_EQ(largest, 2);
}

TEST_F(Ahead, WhoStartsUpIsBesideThoseWhoWillBeThere) {
  EXPECT_THAT(in(0), ElementsAre(0, 1, 2));
  EXPECT_THAT(in(7), ElementsAre(0, 1, 2));
  EXPECT_THAT(in(7, 102), ElementsAre(1, 2)) << "time has gone by since it was looked at";
  EXPECT_THAT(in(60), ElementsAre(1));
  EXPECT_THAT(in(0, 1000), ElementsAre(0, 1, 2)) << "late ones are there until they have ended";
}

}  // namespace
}  // namespace plimsoll::plan::schedule
