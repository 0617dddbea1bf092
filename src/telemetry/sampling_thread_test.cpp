#include "telemetry/sampling_thread.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "nvml/fake.hpp"
#include "telemetry/test_root.hpp"

namespace plimsoll::telemetry {
namespace {

using std::chrono::milliseconds;

void wait_for_frames(const SamplingThread& thread, std::uint64_t frames) {
  // Five minutes: only frames that never come are not there by then.
  for (int i = 0; i < 300'000 && thread.cost().frames < frames; ++i)
    std::this_thread::sleep_for(milliseconds(1));
  ASSERT_GE(thread.cost().frames, frames);
}

TEST(SamplingThread, GivesFramesAndTheirSeries) {
  SamplingThread thread(Sampler({.rate = 100}), 100);
  thread.watch({.run = 7, .root = ::getpid()});
  wait_for_frames(thread, 15);
  SamplingThread::Taken taken = thread.take();
  ASSERT_FALSE(taken.frames.empty());
  thread.stop();
  SamplingThread::Taken rest = thread.take();
  ASSERT_FALSE(rest.frames.empty()) << "one last frame";
  taken.new_series.insert(taken.new_series.end(), rest.new_series.begin(), rest.new_series.end());
  taken.frames.insert(taken.frames.end(), rest.frames.begin(), rest.frames.end());
  bool seen = false;
  for (std::size_t i = 0; i < taken.frames.size(); ++i) {
    EXPECT_GE(taken.frames[i].time, taken.frames[i == 0 ? 0 : i - 1].time);
    for (const Reading& value : taken.frames[i].values) {
      ASSERT_LT(value.series, taken.new_series.size());
      seen |= taken.new_series[value.series].run == 7;
    }
  }
  EXPECT_TRUE(seen);
  EXPECT_GT(thread.cost().cpu_seconds, 0);
  EXPECT_TRUE(thread.take().new_series.empty()) << "each is told once";
}

TEST(SamplingThread, TheLastFrameReadsEverything) {
  TestRoot root;
  root.process({.pid = 100});
  Sampler sampler(root.options(0.1));
  sampler.watch({.run = 1, .root = 100});  // so that it is in the first frame
  SamplingThread thread(std::move(sampler), 0.1);
  wait_for_frames(thread, 1);
  root.process({.pid = 100, .ticks = 25});
  thread.stop();
  const SamplingThread::Taken taken = thread.take();
  ASSERT_GE(taken.frames.size(), 2U);
  double cpu_time = 0;
  for (const Reading& value : taken.frames.back().values)
    if (taken.new_series.at(value.series).name == "system/run/cpu_time") cpu_time = value.value;
  EXPECT_NEAR(cpu_time, 0.25, 1e-9);
}

/// A driver that does not answer for some periods, once.
class SlowLibrary final : public nvml::FakeLibrary {
 public:
  SlowLibrary() : FakeLibrary({{.name = "slow"}}) {}
  Result<double> temperature(unsigned) const override {
    std::this_thread::sleep_for(milliseconds(50));
    return 50;
  }
};

TEST(SamplingThread, AFrameThatComesLateLeavesAGap) {
  SlowLibrary library;
  SamplingThread thread(Sampler({.rate = 100, .nvml = &library, .devices = {0}, .host = false}), 100);
  wait_for_frames(thread, 3);
  thread.stop();
  const SamplingThread::Taken taken = thread.take();
  const auto gap = std::ranges::find(taken.gaps, false, &SamplingThread::Gap::dropped);
  ASSERT_NE(gap, taken.gaps.end());
  EXPECT_EQ(gap->from, taken.frames.at(0).time);
  EXPECT_EQ(gap->to, taken.frames.at(1).time);
  EXPECT_GE(gap->to - gap->from, 50'000) << "microseconds";
}

TEST(SamplingThread, DropsTheOldestAndTellsTheGap) {
  SamplingThread thread(Sampler({.rate = 100, .host = false}), 100, 5);
  wait_for_frames(thread, 12);
  thread.stop();
  const SamplingThread::Taken taken = thread.take();
  EXPECT_EQ(taken.frames.size(), 5U);
  ASSERT_FALSE(taken.gaps.empty());
  EXPECT_TRUE(taken.gaps.front().dropped);
  EXPECT_LT(taken.gaps.front().from, taken.gaps.front().to);
  EXPECT_EQ(taken.gaps.front().to, taken.frames.front().time);
  EXPECT_EQ(std::ranges::count(taken.gaps, true, &SamplingThread::Gap::dropped), 1);
}

}  // namespace
}  // namespace plimsoll::telemetry
