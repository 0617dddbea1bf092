#include "run/gpu_use.hpp"

#include <gtest/gtest.h>

namespace plimsoll::running {
namespace {

using telemetry::Series;

Series of(std::string name, std::optional<int> run, std::optional<unsigned> gpu) {
  return {.name = std::move(name), .unit = "1", .source = "test", .run = run, .gpu = gpu};
}

TEST(GpuUse, KeepsTheNewestAndTheMost) {
  const std::vector<Series> series{
      of("system/run/gpu/0/memory", 1, 0),         of("system/run/gpu/1/memory", 1, 1),
      of("system/run/gpu/1/sm_activity", 1, 1),    of("system/gpu/1/sm_activity", {}, 1),
      of("system/gpu/1/dram_activity", {}, 1),     of("system/gpu/1/power", {}, 1),
      of("system/gpu/1/mig/3/sm_activity", {}, 1), of("system/run/memory", 1, {}),
      of("system/run/gpu/1/memory", 2, 1)};
  GpuUse use;
  use.see({.time = 1, .values = {{0, 10}, {1, 90}, {8, 500}}}, series);
  use.see({.time = 2, .values = {{1, 70}, {2, 0.25}, {3, 0.5}, {4, 0.125}, {5, 300}, {6, 1}, {7, 1e9}}},
          series);
  Progress progress{.run = "a"};
  use.add_to(progress, 1);
  EXPECT_EQ(progress, (Progress{.run = "a",
                                .gpu_bytes = Bytes(70),
                                .sm_activity = 0.25,
                                .gpu_sm_activity = 0.5,
                                .gpu_dram_activity = 0.125,
                                .gpu_watts = 300}));
  EXPECT_EQ(use.peak(1), Bytes(90));
  EXPECT_EQ(use.peak(2), Bytes(500));
  EXPECT_EQ(use.peak(3), std::nullopt);
  Progress nothing{.run = "b"};
  use.add_to(nothing, 3);
  EXPECT_EQ(nothing, Progress{.run = "b"});
}

}  // namespace
}  // namespace plimsoll::running
