#include "base/figure.hpp"

#include <gtest/gtest.h>

namespace plimsoll {
namespace {

Figure bytes(std::optional<double> value) {
  return {.name = "peak allocated", .value = value, .unit = Unit::bytes};
}

TEST(Figure, IsCalledByItsNameAndUnit) {
  EXPECT_EQ(key(bytes(1)), "peak_allocated_bytes");
  EXPECT_EQ(key({.unit = Unit::seconds}), "seconds") << "the one that all is about";
  EXPECT_EQ(key({.name = "accuracy", .unit = Unit::share}), "accuracy") << "a share has no unit";
}

TEST(Figure, TheErrorIsEstimatedOverMeasuredLessOne) {
  EXPECT_DOUBLE_EQ(estimation_error(bytes(3), bytes(2)).value(), 0.5) << "too high";
  EXPECT_DOUBLE_EQ(estimation_error(bytes(1), bytes(2)).value(), -0.5) << "too low";
}

TEST(Figure, WhatIsUnknownHasNoError) {
  EXPECT_FALSE(estimation_error(bytes({}), bytes(2)));
  EXPECT_FALSE(estimation_error(bytes(2), bytes({})));
  EXPECT_FALSE(estimation_error(bytes(2), bytes(0))) << "nothing was measured";
}

TEST(Figure, ProvenancesHaveNames) {
  for (const Provenance p :
       {Provenance::measured, Provenance::calibrated, Provenance::datasheet, Provenance::assumed})
    EXPECT_EQ(provenance_named(name(p)), p);
  EXPECT_FALSE(provenance_named("hearsay"));
}

}  // namespace
}  // namespace plimsoll
