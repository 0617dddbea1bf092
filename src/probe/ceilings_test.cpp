#include "probe/ceilings.hpp"

#include <gtest/gtest.h>

namespace plimsoll::probe {
namespace {

hardware::Device device() {
  hardware::Device d;
  d.memory_bandwidth = hardware::DeviceFigure{4.8e12, Provenance::datasheet};
  d.power = hardware::DeviceFigure{700, Provenance::datasheet};
  d.l2_cache = hardware::DeviceFigure{60e6, Provenance::datasheet};
  d.peak[static_cast<std::size_t>(hardware::Arithmetic::bf16)] =
      hardware::DeviceFigure{989e12, Provenance::datasheet};
  return d;
}

Rate rate(std::string name, std::string unit, double amount, std::optional<double> at,
          std::vector<double> samples, std::optional<double> joules = {}) {
  return {std::move(name), std::move(unit), amount, at, std::move(samples), joules};
}

TEST(Ceilings, ValuesInTheirUnits) {
  // An amount over the median time; the interval of seven samples at 95 % is from the least to the most.
  const auto bandwidth = value_of(rate("memory-read", "B/s", 100, 1e9, {1, 2, 2, 2, 2, 2, 4}));
  ASSERT_TRUE(bandwidth);
  EXPECT_DOUBLE_EQ(bandwidth->value, 50);
  EXPECT_DOUBLE_EQ(bandwidth->spread, 0.75);
  EXPECT_DOUBLE_EQ(value_of(rate("launch-kernel", "s", 1, {}, {3e-6, 2e-6, 4e-6}))->value, 3e-6);
  EXPECT_DOUBLE_EQ(value_of(rate("idle-power", "W", 1, {}, {2, 2}, 300))->value, 75);
  EXPECT_DOUBLE_EQ(value_of(rate("energy-memory-triad", "J/B", 1e12, {}, {2}, 30))->value, 3e-11);
}

TEST(Ceilings, WhatIsNotKnownIsAbsent) {
  EXPECT_FALSE(value_of(rate("memory-read", "B/s", 100, {}, {})));
  EXPECT_FALSE(value_of(rate("memory-read", "B/s", 100, {}, {0, 0, 0})));
  EXPECT_FALSE(value_of(rate("idle-power", "W", 1, {}, {2})));
  EXPECT_FALSE(value_of(rate("energy-memory-triad", "J/B", 0, {}, {2}, 30)));
  EXPECT_FALSE(flops_of(MatrixProduct{.samples = {}, .library = {}}));
  EXPECT_FALSE(bandwidth_of(VectorAdd{.parts = {}, .device = {}}));
}

TEST(Ceilings, SharesOfThePeak) {
  Findings findings;
  findings.rates = {rate("memory-triad", "B/s", 4.32e12, 1e10, {1}),
                    rate("memory-triad", "B/s", 9e12, 1e6, {1}),
                    rate("product-bf16", "FLOP/s", 791.2e12, 1e9, {1}),
                    rate("product-fp64", "FLOP/s", 6e13, 1e9, {1}),
                    rate("load-power", "W", 1, {}, {1}, 686),
                    rate("launch-kernel", "s", 1, {}, {2e-6}),
                    rate("memory-triad-one-thread", "B/s", 1e10, 1e10, {1})};
  const auto ceilings = ceilings_of(findings, device(), "plimsoll probe", "2026-01-02");
  ASSERT_EQ(ceilings.size(), 7u);
  EXPECT_DOUBLE_EQ(*ceilings[0].share_of_peak, 0.9);
  EXPECT_FALSE(ceilings[1].share_of_peak);  // a cache's
  EXPECT_DOUBLE_EQ(*ceilings[2].share_of_peak, 0.8);
  EXPECT_FALSE(ceilings[3].share_of_peak);  // of which the datasheet says nothing
  EXPECT_DOUBLE_EQ(*ceilings[4].share_of_peak, 0.98);
  EXPECT_FALSE(ceilings[5].share_of_peak);
  EXPECT_FALSE(ceilings[6].share_of_peak);
  EXPECT_EQ(ceilings[0].figure.provenance, Provenance::measured);
  EXPECT_EQ(ceilings[0].figure.date, "2026-01-02");
  EXPECT_EQ(ceilings[0].figure.source, "plimsoll probe");
  EXPECT_EQ(ceilings[0].unit, "B/s");
  EXPECT_EQ(ceilings[0].at, 1e10);
}

TEST(Ceilings, TheOneThatCounts) {
  Findings findings;
  findings.rates = {
      rate("memory-read", "B/s", 9e12, 1e6, {1}),          rate("memory-read", "B/s", 4e12, 1e9, {1}),
      rate("product-bf16", "FLOP/s", 6e14, 1e8, {1}),      rate("product-bf16", "FLOP/s", 7e14, 1e7, {1}),
      rate("launch-kernel", "s", 1, {}, {3e-6}),           rate("launch-kernel", "s", 1, {}, {2e-6}),
      rate("copy-to-device-pinned", "B/s", 5e10, 1e9, {1})};
  const auto ceilings = ceilings_of(findings, device(), "", "");
  EXPECT_EQ(ceiling_named(ceilings, "memory-read")->figure.value, 4e12);  // memory's, not a cache's
  EXPECT_EQ(ceiling_named(ceilings, "product-bf16")->figure.value, 7e14);
  EXPECT_EQ(ceiling_named(ceilings, "launch-kernel")->figure.value, 2e-6);
  EXPECT_EQ(ceiling_named(ceilings, "copy-to-host-pinned"), nullptr);
}

TEST(Ceilings, CurvesArePowersOfTwo) {
  EXPECT_TRUE(on_curve({.name = {}, .figure = {}, .unit = {}, .at = 0x1p20}));
  EXPECT_FALSE(on_curve({.name = {}, .figure = {}, .unit = {}, .at = 12e6}));
  EXPECT_FALSE(on_curve({.name = {}, .figure = {}, .unit = {}, .at = 0}));
  EXPECT_FALSE(on_curve({.name = {}, .figure = {}, .unit = {}}));
}

}  // namespace
}  // namespace plimsoll::probe
