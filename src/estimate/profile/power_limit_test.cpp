#include "estimate/profile/power_limit.hpp"

#include <gtest/gtest.h>

namespace plimsoll::estimate {
namespace {

/// What 11 loads did on an H200 (bench/device/power_limit.py): shares of a burst's best rates, and by how
/// much they took longer when they went on for seconds. Nothing but products: 1.18.
struct Load {
  double compute, memory, longer;
};
constexpr Load kLoads[] = {{0.98, 0.08, 1.165},   {0.987, 0.115, 1.188}, {0.978, 0.15, 1.197},
                           {0.94, 0.26, 1.152},   {0.857, 0.37, 1.152},  {0.956, 0.19, 1.165},
                           {0.705, 0.366, 1.062}, {0.384, 0.607, 1.006}, {0.643, 0.434, 1.059},
                           {0.476, 0.587, 1.02},  {0.313, 0.735, 1.0}};

TEST(PowerLimit, SlowsLoadsDownAsTheyWere) {
  for (const Load& load : kLoads) EXPECT_NEAR(slow_down(load.compute, load.memory, 1.18), load.longer, 0.05);
}

TEST(PowerLimit, NothingHappensWhereNothingIsSustainedLess) {
  EXPECT_EQ(slow_down(1, 1, 1), 1);
}

TEST(PowerLimit, BusierIsNeverQuicker) {
  double before = 0;
  for (double busy = 0; busy <= 1; busy += 0.05) {
    const double now = slow_down(busy, 0.3, 1.2);
    EXPECT_GE(now, before);
    before = now;
  }
  EXPECT_GE(slow_down(0, 0, 1.2), 1);
}

}  // namespace
}  // namespace plimsoll::estimate
