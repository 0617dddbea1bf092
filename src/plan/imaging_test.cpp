#include "plan/imaging.hpp"

#include <gtest/gtest.h>

namespace plimsoll::plan {
namespace {

Imaging satellite() {
  return {.width = 4512, .height = 4512, .patch_width = 224, .patch_height = 224};
}

TEST(Imaging, BudgetsOfTheSatellite) {
  Imaging imaging = satellite();
  EXPECT_EQ(imaging.patches(), 400) << "20 x 20 whole ones";
  EXPECT_EQ(budget_per_image(imaging), std::nullopt);
  imaging.period = Seconds(95.65 * 60);
  imaging.images = 80;
  EXPECT_NEAR(budget_per_image(imaging)->value(), 71.74, 0.005);
  EXPECT_NEAR((Watts(5) * *budget_per_image(imaging)).value(), 359, 0.5);
  imaging.period = Seconds(86400);
  imaging.images = 320;
  EXPECT_EQ(budget_per_image(imaging), Seconds(270));
}

TEST(Imaging, WhatWaitsAndWhatTheLinkMustCarry) {
  Imaging imaging = satellite();
  imaging.period = Seconds(5739);
  imaging.images = 80;
  imaging.relevant = 0.05;
  imaging.bits_per_second = 1e6;
  const auto got = storage(imaging);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->image, Bytes(4512LL * 4512 * 3));
  EXPECT_EQ(got->cycle, Bytes(4512LL * 4512 * 3 * 80));
  EXPECT_NEAR(*got->all->needed, 8.0 * 4512 * 4512 * 3 * 80 / 5739, 1);
  EXPECT_EQ(got->all->keeps_up, false);
  EXPECT_EQ(got->relevant->size, Bytes(20LL * 224 * 224 * 3 * 80)) << "20 of 400 patches";
  EXPECT_EQ(got->relevant->keeps_up, true) << "32 min of 96";
  EXPECT_FALSE(storage({}));
  EXPECT_FALSE(storage(satellite())->cycle) << "nobody said how many images there are";
  EXPECT_EQ(Imaging{}.patches(), 1);
}

}  // namespace
}  // namespace plimsoll::plan
