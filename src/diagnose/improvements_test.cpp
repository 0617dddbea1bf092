#include "diagnose/improvements.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "diagnose/test_runs.hpp"

namespace plimsoll::diagnose {
namespace {

std::vector<Improvement> improvements_of_made_up(const MadeUp& made, const GpuRatios& ratios = {}) {
  const Recording recording = made_up_run(made).take();
  const RunFigures figures = figures_of(recording, recording.whole());
  return improvements_of(figures, verdict_of(recording, figures), ratios);
}

const Improvement* found(const std::vector<Improvement>& improvements, std::string_view id) {
  const auto at = std::ranges::find(improvements, id, &Improvement::id);
  return at == improvements.end() ? nullptr : &*at;
}

TEST(Improvements, AGpuThatWaitsForOneThreadWantsWorkers) {
  // Kernels run 40 % of the time: hiding the rest makes it 2.5 times as fast, and 16 cores are more than
  // enough.
  const auto all = improvements_of_made_up({.sm = 0.3, .kernels = 0.4, .cpu = 1});
  const Improvement* workers = found(all, "loader-workers");
  ASSERT_NE(workers, nullptr);
  EXPECT_NEAR(*workers->gain, 2.5, 0.1);
  EXPECT_EQ(found(all, "batch"), nullptr);
}

TEST(Improvements, SmallKernelsWantALargerBatchWhereThereIsMemory) {
  const auto all = improvements_of_made_up({.sm = 0.2, .kernels = 0.95, .cpu = 1});
  ASSERT_NE(found(all, "batch"), nullptr);
  EXPECT_NEAR(*found(all, "batch")->high, 3.5, 0.2);
  EXPECT_NE(found(all, "captured-graph"), nullptr);
  EXPECT_TRUE(found(all, "neighbour")->of_gpu);
  EXPECT_EQ(found(improvements_of_made_up({.sm = 0.2, .kernels = 0.95, .memory = 84e9, .cpu = 1}), "batch"),
            nullptr);
}

TEST(Improvements, BusyFp32WithoutTensorCoresWantsMixedPrecision) {
  const MadeUp made{.sm = 0.8, .kernels = 0.97, .tensor = 0, .fp32 = 0.6};
  const auto known = improvements_of_made_up(made, {.half_over_single = 8});
  ASSERT_NE(found(known, "mixed-precision"), nullptr);
  EXPECT_NEAR(*found(known, "mixed-precision")->low, 1 / (0.4 + 0.6 / 8), 0.1);
  EXPECT_FALSE(found(improvements_of_made_up(made), "mixed-precision")->gain);
}

TEST(Improvements, AFullGpuIsToldNothing) {
  EXPECT_TRUE(improvements_of_made_up({.sm = 0.85, .kernels = 0.99, .tensor = 0.5}).empty());
}

TEST(Improvements, ALargerBatchBringsNoMoreThanItIsLarger) {
  const Improvement batch{.id = "batch", .title = {}, .why = {}, .rule = {}, .gain = 2, .low = 1, .high = 4};
  EXPECT_EQ(gain_of_change(batch, 2), 2);
  EXPECT_EQ(gain_of_change(batch, 3), 3);
  EXPECT_EQ(gain_of_change(batch, 16), 4);
  EXPECT_EQ(gain_of_change(batch, 1), 2);  // nobody knows how much larger it was made
  EXPECT_EQ(gain_of_change({.id = "pinned-memory", .title = {}, .why = {}, .rule = {}}, 1), std::nullopt);
}

}  // namespace
}  // namespace plimsoll::diagnose
