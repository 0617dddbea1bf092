#include "telemetry/sampler.hpp"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "telemetry/test_root.hpp"

namespace plimsoll::telemetry {
namespace {

using testing::Contains;
using testing::DoubleEq;
using testing::DoubleNear;
using testing::Key;
using testing::Not;
using testing::Pair;

/// Frames a tenth of a second apart.
class Machine {
 public:
  TestRoot root;
  std::map<std::string, double> next(Sampler& sampler, int frames = 1) {
    std::map<std::string, double> out;
    for (int i = 0; i < frames; ++i) {
      for (const auto& [name, value] : named_values(sampler, sampler.sample(time_ * 100'000, time_ * 0.1)))
        out[name] = value;
      ++time_;
    }
    return out;
  }

 private:
  std::int64_t time_ = 0;
};

TEST(Sampler, ReadsThisVeryMachine) {
  Sampler sampler({.rate = 10});
  sampler.watch({.run = 3, .root = ::getpid()});
  static_cast<void>(sampler.sample(0, 0));
  volatile double sink = 0;
  for (int i = 0; i < 20'000'000; ++i) sink = sink + std::sqrt(i);
  const auto values = named_values(sampler, sampler.sample(1'000'000, 1));
  EXPECT_THAT(values, Contains(Key("system/host/memory_used")));
  EXPECT_THAT(values, Contains(Key("system/host/cpu")));
  EXPECT_THAT(values, Contains(Pair("system/run/processes#3", DoubleEq(1))));
  EXPECT_GT(values.at("system/run/memory_resident#3"), 1e6);
  EXPECT_GT(values.at("system/run/cpu_time#3"), 0);
}

TEST(Sampler, EverySeriesCarriesTheHost) {
  Machine machine;
  machine.root.write("proc/sys/kernel/hostname", "node8\n");
  machine.root.write("proc/stat", "cpu 100 0 100 1000 0 0 0 0 0 0\n");
  machine.root.write("proc/meminfo", "MemTotal: 100 kB\nMemAvailable: 50 kB\n");
  machine.root.process({.pid = 10});
  Sampler kernels(machine.root.options());
  kernels.watch({.run = 1, .root = 10});
  SamplerOptions named = machine.root.options();
  named.hostname = "elsewhere";
  Sampler given(named);
  for (int frame = 0; frame < 20; ++frame) {
    static_cast<void>(machine.next(kernels));
    static_cast<void>(machine.next(given));
  }
  ASSERT_GT(kernels.series().size(), 1U);
  for (const Series& series : kernels.series()) EXPECT_EQ(series.host, "node8") << series.name;
  ASSERT_FALSE(given.series().empty());
  for (const Series& series : given.series()) EXPECT_EQ(series.host, "elsewhere") << series.name;
}

TEST(Sampler, SumsATreeOfProcesses) {
  Machine machine;
  machine.root.process({.pid = 100, .ticks = 500});
  machine.root.process({.pid = 101, .parent = 100, .ticks = 70, .threads = 4});
  machine.root.process({.pid = 102, .parent = 101, .ticks = 30});
  machine.root.process({.pid = 200, .parent = 1, .ticks = 9000});
  Sampler sampler(machine.root.options());
  sampler.watch({.run = 1, .root = 100});
  EXPECT_THAT(machine.next(sampler), Contains(Pair("system/run/processes#1", DoubleEq(3))));
  machine.root.process({.pid = 100, .ticks = 505});
  machine.root.process({.pid = 102, .parent = 101, .ticks = 45});
  machine.root.process({.pid = 200, .parent = 1, .ticks = 9999});
  const auto values = machine.next(sampler, 2);
  EXPECT_NEAR(values.at("system/run/cpu#1"), 1, 1e-9) << "20 ticks of 10 ms in 200 ms";
  EXPECT_NEAR(values.at("system/run/cpu_time#1"), 0.2, 1e-9) << "what was used before is not the run's";
  EXPECT_EQ(values.at("system/run/memory_resident#1"), 300.0 * static_cast<double>(::sysconf(_SC_PAGESIZE)));
}

TEST(Sampler, ChildrenThatComeAndGoLoseNoTime) {
  Machine machine;
  machine.root.process({.pid = 100});
  Sampler sampler(machine.root.options());
  sampler.watch({.run = 1, .root = 100});
  machine.next(sampler, 2);
  // A child is found a while after it began, with half a second of work done.
  machine.root.process({.pid = 101, .parent = 100, .ticks = 50});
  const auto found = machine.next(sampler, 12);
  EXPECT_NEAR(found.at("system/run/cpu_time#1"), 0.5, 1e-9);
  EXPECT_LE(found.at("system/run/cpu#1"), 0.51) << "told over a second, not as a spike of five cores";
  // Its parent waits for it: the time moves to the parent's children.
  machine.root.end(101);
  machine.root.process({.pid = 100, .children_ticks = 60});
  EXPECT_NEAR(machine.next(sampler, 12).at("system/run/cpu_time#1"), 0.6, 1e-9);
  // Nobody of the run waits for the root: its time stays the run's.
  machine.root.end(100);
  EXPECT_NEAR(machine.next(sampler, 12).at("system/run/cpu_time#1"), 0.6, 1e-9);
}

TEST(Sampler, ANumberGivenAnewIsAnotherProcess) {
  Machine machine;
  machine.root.process({.pid = 100, .ticks = 10, .start = 1000});
  Sampler sampler(machine.root.options());
  sampler.watch({.run = 1, .root = 100});
  machine.next(sampler, 2);
  machine.root.process({.pid = 100, .ticks = 900, .start = 2000});
  const auto values = machine.next(sampler, 12);
  EXPECT_THAT(values, Contains(Pair("system/run/processes#1", DoubleEq(0))));
  EXPECT_NEAR(values.at("system/run/cpu_time#1"), 0, 1e-9);
}

TEST(Sampler, OrphansStayWithTheirRun) {
  Machine machine;
  machine.root.process({.pid = 100});
  machine.root.process({.pid = 101, .parent = 100});
  machine.root.process({.pid = 300, .parent = 1, .ticks = 40});
  Sampler sampler(machine.root.options());
  sampler.watch({.run = 1, .root = 100});
  machine.next(sampler);
  machine.root.end(100);
  machine.root.process({.pid = 101, .parent = 1});
  EXPECT_EQ(machine.next(sampler, 12).at("system/run/processes#1"), 1);
  sampler.adopt(1, 300);
  const auto adopted = machine.next(sampler, 12);
  EXPECT_EQ(adopted.at("system/run/processes#1"), 2);
  EXPECT_NEAR(adopted.at("system/run/cpu_time#1"), 0.4, 1e-9) << "an orphan's past is the run's";
}

TEST(Sampler, ANewProcessIsFoundSoonWhereTheMachineSaysThatThereIsOne) {
  Machine machine;
  machine.root.process({.pid = 100});
  machine.root.write("proc/loadavg", "0.20 0.18 0.12 1/80 100\n");
  Sampler sampler(machine.root.options());
  sampler.watch({.run = 1, .root = 100});
  machine.next(sampler, 3);
  machine.root.process({.pid = 101, .parent = 100});
  EXPECT_THAT(machine.next(sampler, 3), Not(Contains(Key("system/run/processes#1"))))
      << "no news, no listing";
  machine.root.write("proc/loadavg", "0.20 0.18 0.12 1/80 101\n");
  EXPECT_EQ(machine.next(sampler, 2).at("system/run/processes#1"), 2);
}

TEST(Sampler, ForgettingReadsOnceMore) {
  Machine machine;
  machine.root.process({.pid = 100});
  Sampler sampler(machine.root.options(100));
  sampler.watch({.run = 1, .root = 100});
  static_cast<void>(sampler.sample(0, 0));
  machine.root.process({.pid = 100, .ticks = 3});
  sampler.forget(1);
  const auto last = named_values(sampler, sampler.sample(10'000, 0.01));
  EXPECT_NEAR(last.at("system/run/cpu_time#1"), 0.03, 1e-9);
  EXPECT_THAT(named_values(sampler, sampler.sample(20'000, 1)), Not(Contains(Key("system/run/cpu_time#1"))));
}

}  // namespace
}  // namespace plimsoll::telemetry
