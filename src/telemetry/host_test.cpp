#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "telemetry/cgroup.hpp"
#include "telemetry/counter.hpp"
#include "telemetry/sampler.hpp"
#include "telemetry/test_root.hpp"

namespace plimsoll::telemetry {
namespace {

using testing::Contains;
using testing::Key;
using testing::Not;

/// Two readings, `seconds` apart, with `change` in between; the values of the second.
template <class Change>
std::map<std::string, double> second_reading(TestRoot& root, double seconds, Change change) {
  Sampler sampler(root.options());
  static_cast<void>(sampler.sample(0, 0));
  change();
  return named_values(sampler, sampler.sample(1, seconds));
}

TEST(Host, TellsItsProcessorsMemoryDisksAndNetwork) {
  TestRoot root;
  root.write("proc/stat", "cpu  1000 0 0 0 0 0 0 0 0 0\n");
  root.write("proc/meminfo",
             "MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: 400 kB\nSwapTotal: 9 kB\nSwapFree: 2 kB\n");
  root.write("proc/diskstats", " 8 0 sda 1 1 100 1 1 1 200 1 0 1 1\n 8 1 sda1 1 1 100 1 1 1 200 1 0 1 1\n");
  root.write("sys/block/sda/device/model", "disk");
  root.write("proc/net/dev", "h\nh\n lo: 5 0 0 0 0 0 0 0 5 0\n eth0: 100 0 0 0 0 0 0 0 50 0\n");
  root.write("proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000000\n");
  const auto values = second_reading(root, 2, [&] {
    root.write("proc/stat", "cpu  1300 0 0 0 0 0 0 0 0 0\n");
    root.write("proc/diskstats", " 8 0 sda 1 1 300 1 1 1 200 1 0 1 1\n 8 1 sda1 1 1 300 1 1 1 200 1 0 1 1\n");
    root.write("proc/net/dev", "h\nh\n lo: 9 0 0 0 0 0 0 0 9 0\n eth0: 300 0 0 0 0 0 0 0 60 0\n");
    root.write("proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1500000\n");
  });
  EXPECT_NEAR(values.at("system/host/cpu"), 1.5, 1e-9) << "300 ticks of 10 ms in 2 s";
  EXPECT_EQ(values.at("system/host/memory_used"), 600 * 1024);
  EXPECT_EQ(values.at("system/host/swap_used"), 7 * 1024);
  EXPECT_EQ(values.at("system/host/disk_read"), 100 * 512) << "its partition is not counted again";
  EXPECT_EQ(values.at("system/host/disk_written"), 0);
  EXPECT_EQ(values.at("system/host/network_received"), 100) << "not what the machine sent to itself";
  EXPECT_EQ(values.at("system/host/network_sent"), 5);
  EXPECT_NEAR(values.at("system/host/cpu_pressure"), 0.25, 1e-9);
  EXPECT_THAT(values, Not(Contains(Key("system/host/io_pressure")))) << "no such file, so not told";
}

TEST(Host, OnlyHardwareIsCountedWhereThereIsAny) {
  TestRoot root;
  root.write("sys/class/net/eth0/device/vendor", "x");
  root.write("proc/net/dev", "eth0: 100 0 0 0 0 0 0 0 50 0\n docker0: 100 0 0 0 0 0 0 0 50 0\n");
  const auto values = second_reading(root, 1, [&] {
    root.write("proc/net/dev", "eth0: 200 0 0 0 0 0 0 0 50 0\n docker0: 200 0 0 0 0 0 0 0 50 0\n");
  });
  EXPECT_EQ(values.at("system/host/network_received"), 100);
}

TEST(Host, ACounterThatGoesBackIsUnknownForOnce) {
  TestRoot root;
  root.write("proc/net/dev", "eth0: 100 0 0 0 0 0 0 0 50 0\n");
  Sampler sampler(root.options());
  static_cast<void>(sampler.sample(0, 0));
  root.write("proc/net/dev", "eth0: 10 0 0 0 0 0 0 0 60 0\n");
  const auto reset = named_values(sampler, sampler.sample(1, 1));
  EXPECT_THAT(reset, Not(Contains(Key("system/host/network_received"))));
  EXPECT_EQ(reset.at("system/host/network_sent"), 10);
  root.write("proc/net/dev", "eth0: 30 0 0 0 0 0 0 0 60 0\n");
  EXPECT_EQ(named_values(sampler, sampler.sample(2, 2)).at("system/host/network_received"), 20);
}

TEST(Host, AMachineThatTellsNothingIsNoError) {
  TestRoot root;
  EXPECT_TRUE(second_reading(root, 1, [] {}).empty());
  root.write("proc/stat", "garbage");
  root.write("proc/meminfo", std::string(100'000, 'x'));
  root.write("proc/diskstats", std::string(1000, '\n'));
  root.write("proc/net/dev", ":::::\n: 1 2 3\n");
  EXPECT_TRUE(second_reading(root, 1, [] {}).empty());
}

TEST(Host, PackageEnergyGoesOnOverTheEndOfItsCounter) {
  TestRoot root;
  root.write("sys/class/powercap/intel-rapl:0/name", "package-0\n");
  root.write("sys/class/powercap/intel-rapl:0/max_energy_range_uj", "100000000\n");
  root.write("sys/class/powercap/intel-rapl:0/energy_uj", "90000000\n");
  root.write("sys/class/powercap/intel-rapl:1/name", "psys\n");
  root.write("sys/class/powercap/intel-rapl:1/energy_uj", "1\n");
  Sampler sampler(root.options());
  EXPECT_EQ(named_values(sampler, sampler.sample(0, 0)).at("system/host/package/0/energy"), 0);
  root.write("sys/class/powercap/intel-rapl:0/energy_uj", "5000000\n");
  const auto values = named_values(sampler, sampler.sample(1, 1));
  EXPECT_NEAR(values.at("system/host/package/0/energy"), 15, 1e-9);
  EXPECT_EQ(values.size(), 1U);
}

TEST(Host, PackageEnergyThatMayNotBeReadIsLeftOut) {
  TestRoot root;
  root.write("sys/class/powercap/intel-rapl:0/name", "package-0\n");
  EXPECT_TRUE(second_reading(root, 1, [] {}).empty());
}

TEST(Counter, ATotalOfOneThatDoesNotWrapPassesOverItsReset) {
  Total total;
  total.advance(10);
  EXPECT_EQ(total.advance(30), 20U);
  EXPECT_EQ(total.advance(5), 20U);
  EXPECT_EQ(total.advance(6), 21U);
}

TEST(Cgroup, VersionTwo) {
  TestRoot root;
  root.write("proc/self/cgroup", "0::/user.slice/job\n");
  root.write("sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
  root.write("sys/fs/cgroup/user.slice/memory.max", "5000\n");
  root.write("sys/fs/cgroup/user.slice/job/memory.max", "max\n");
  root.write("sys/fs/cgroup/user.slice/job/memory.current", "1234\n");
  root.write("sys/fs/cgroup/user.slice/job/cpu.stat", "usage_usec 1000000\nuser_usec 1\nthrottled_usec 0\n");
  const auto values = second_reading(root, 2, [&] {
    root.write("sys/fs/cgroup/user.slice/job/cpu.stat",
               "usage_usec 4000000\nuser_usec 1\nthrottled_usec 500000\n");
  });
  EXPECT_EQ(values.at("system/host/cgroup_memory"), 1234);
  EXPECT_EQ(values.at("system/host/cgroup_memory_limit"), 5000) << "the group around it bounds it";
  EXPECT_NEAR(values.at("system/host/cgroup_cpu"), 1.5, 1e-9);
  EXPECT_NEAR(values.at("system/host/cgroup_throttled"), 0.25, 1e-9);
}

TEST(Cgroup, VersionOne) {
  TestRoot root;
  root.write("proc/self/cgroup", "4:memory:/job\n2:cpu,cpuacct:/job\n0::/\n");
  root.write("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "77\n");
  root.write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712\n");
  root.write("sys/fs/cgroup/cpuacct/job/cpuacct.usage", "1000000000\n");
  root.write("sys/fs/cgroup/cpu/job/cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n");
  const auto values =
      second_reading(root, 1, [&] { root.write("sys/fs/cgroup/cpuacct/job/cpuacct.usage", "3000000000\n"); });
  EXPECT_EQ(values.at("system/host/cgroup_memory"), 77);
  EXPECT_NEAR(values.at("system/host/cgroup_cpu"), 2, 1e-9);
  EXPECT_EQ(values.at("system/host/cgroup_throttled"), 0);
  EXPECT_THAT(values, Not(Contains(Key("system/host/cgroup_memory_limit")))) << "no limit is no figure";
}

TEST(Cgroup, APathOfTheHostMeansTheMountedRoot) {
  TestRoot root;
  root.write("sys/fs/cgroup/cgroup.controllers", "memory\n");
  root.write("sys/fs/cgroup/memory.current", "5\n");
  EXPECT_EQ(find_cgroup("0::/docker/abc\n", root.sys() / "fs/cgroup").memory,
            root.sys() / "fs/cgroup/memory.current");
  EXPECT_EQ(find_cgroup("0::/../../proc\n", root.sys() / "fs/cgroup").memory,
            root.sys() / "fs/cgroup/memory.current");
}

TEST(Cgroup, None) {
  TestRoot root;
  EXPECT_EQ(find_cgroup("", root.sys() / "fs/cgroup").version, 0);
  EXPECT_EQ(find_cgroup("::::\n\n4:memory\n", root.sys() / "fs/cgroup").version, 0);
}

}  // namespace
}  // namespace plimsoll::telemetry
