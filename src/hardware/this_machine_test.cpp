#include "hardware/this_machine.hpp"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hardware/cpu.hpp"
#include "nvml/fake.hpp"

namespace plimsoll::hardware {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

/// A folder that looks like the root of a machine.
class FakeRoot {
 public:
  FakeRoot() : path_(fs::path(testing::TempDir()) / fmt::format("root_{}", static_cast<void*>(this))) {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  ~FakeRoot() { fs::remove_all(path_); }
  FakeRoot(const FakeRoot&) = delete;
  FakeRoot& operator=(const FakeRoot&) = delete;

  FakeRoot& file(const std::string& name, std::string_view contents) {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << contents;
    return *this;
  }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string x86_cpu(int number, int core, std::string_view flags, std::string_view mhz, int model = 85,
                    std::string_view name = "Some Processor") {
  return fmt::format(
      "processor\t: {}\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: {}\nmodel name\t: {}\n"
      "{}physical id\t: 0\ncore id\t\t: {}\nflags\t\t: fpu {} lm\n\n",
      number, model, name, mhz.empty() ? "" : fmt::format("cpu MHz\t\t: {}\n", mhz), core, flags);
}

const DeviceFigure& fp32(const Device& device) {
  return device.peak_of(Arithmetic::fp32).value();
}

TEST(ThisMachine, VirtualMachineFallsBackToTheFrequencyOfTheMoment) {
  FakeRoot root;
  root.file("proc/cpuinfo",
            x86_cpu(0, 0, "sse2 avx avx2 fma", "2300.000") + x86_cpu(1, 0, "sse2 avx avx2 fma", "2300.000") +
                x86_cpu(2, 1, "sse2 avx avx2 fma", "2300.000") + x86_cpu(3, 1, "sse2", "2300.000"));
  root.file("proc/meminfo", "MemTotal:        8000000 kB\nMemFree: 1 kB\n");
  const Cpu cpu = read_cpu(root.path());
  EXPECT_EQ(cpu.threads, 4);
  EXPECT_EQ(cpu.cores.size(), 2U);
  const Device device = describe(cpu);
  EXPECT_EQ(device.kind, DeviceKind::cpu);
  EXPECT_EQ(device.name, "Some Processor");
  EXPECT_DOUBLE_EQ(fp32(device).value, 2 * 2.3e9 * 32);
  EXPECT_DOUBLE_EQ(device.peak_of(Arithmetic::fp64)->value, 2.3e9 * 32);
  EXPECT_EQ(fp32(device).provenance, Provenance::assumed);
  EXPECT_THAT(fp32(device).source, HasSubstr("2 cores x 2.30 GHz x 32 FLOP per cycle (AVX2"));
  EXPECT_THAT(fp32(device).source, HasSubstr("of the moment"));
  EXPECT_EQ(capacity(device), Bytes(8'000'000LL * 1024));
  EXPECT_FALSE(device.memory_bandwidth);
}

TEST(ThisMachine, TheKernelsMaximumGoesFirst) {
  FakeRoot root;
  root.file("proc/cpuinfo", x86_cpu(0, 0, "sse2", "800.0"))
      .file("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3700000\n");
  EXPECT_DOUBLE_EQ(fp32(describe(read_cpu(root.path()))).value, 3.7e9 * 8);
}

TEST(ThisMachine, FrequencyInTheName) {
  FakeRoot root;
  root.file("proc/cpuinfo", x86_cpu(0, 0, "avx", "", 45, "Intel(R) Xeon(R) CPU @ 2.60GHz"));
  EXPECT_DOUBLE_EQ(fp32(describe(read_cpu(root.path()))).value, 2.6e9 * 16);
}

TEST(ThisMachine, TwoWideUnitsOnlyWhereKnown) {
  FakeRoot root;
  root.file("proc/cpuinfo", x86_cpu(0, 0, "avx avx2 fma avx512f", "2000", 207));
  EXPECT_DOUBLE_EQ(fp32(describe(read_cpu(root.path()))).value, 2e9 * 64);
  root.file("proc/cpuinfo", x86_cpu(0, 0, "avx avx2 fma avx512f", "2000", 85));
  const Device skylake = describe(read_cpu(root.path()));
  EXPECT_DOUBLE_EQ(fp32(skylake).value, 2e9 * 32);
  EXPECT_THAT(fp32(skylake).source, HasSubstr("not known for this model"));
}

TEST(ThisMachine, HybridAddsUpItsCores) {
  FakeRoot root;
  std::string info;
  for (int i = 0; i < 4; ++i) info += x86_cpu(i, i < 2 ? 0 : i, "avx avx2 fma", "1000", 183);
  root.file("proc/cpuinfo", info)
      .file("sys/devices/cpu_core/cpus", "0-1\n")
      .file("sys/devices/cpu_atom/cpus", "2-3\n");
  for (int i = 0; i < 4; ++i) {
    const std::string folder = fmt::format("sys/devices/system/cpu/cpu{}/", i);
    root.file(folder + "topology/thread_siblings_list", i < 2 ? "0-1\n" : fmt::format("{}\n", i));
    root.file(folder + "cpufreq/cpuinfo_max_freq", i < 2 ? "5000000\n" : "4000000\n");
  }
  const Cpu cpu = read_cpu(root.path());
  ASSERT_EQ(cpu.cores.size(), 3U);
  EXPECT_FALSE(cpu.cores[0].efficiency);
  EXPECT_TRUE(cpu.cores[2].efficiency);
  const Device device = describe(cpu);
  EXPECT_DOUBLE_EQ(fp32(device).value, 5e9 * 32 + 2 * 4e9 * 16);
  EXPECT_THAT(fp32(device).source, HasSubstr("1 core x 5.00 GHz"));
  EXPECT_THAT(fp32(device).source, HasSubstr(" + 2 cores x 4.00 GHz"));
}

TEST(ThisMachine, ArmHasNoPeakAndStillAName) {
  FakeRoot root;
  root.file("proc/cpuinfo",
            "processor\t: 0\nBogoMIPS\t: 108.00\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\n\n"
            "processor\t: 1\nBogoMIPS\t: 108.00\nFeatures\t: fp asimd\n\nModel\t\t: Raspberry Pi 4 Model B "
            "Rev 1.2\n");
  root.file("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "1500000");
  const Device device = describe(read_cpu(root.path()));
  EXPECT_EQ(device.name, "Raspberry Pi 4 Model B Rev 1.2");
  EXPECT_EQ(device.multiprocessors->value, 2);
  EXPECT_FALSE(device.peak_of(Arithmetic::fp32));
  EXPECT_FALSE(device.peak_of(Arithmetic::fp64));
  EXPECT_FALSE(device.notes.empty());
}

TEST(ThisMachine, AnEmptyRootIsAMachineOfUnknowns) {
  FakeRoot root;
  const Device device = describe(read_cpu(root.path()));
  EXPECT_EQ(device.name, "CPU");
  EXPECT_FALSE(device.memory);
  EXPECT_FALSE(device.multiprocessors);
  root.file("proc/cpuinfo", "processor\t: \xff\xfe\n:::\n\n\nprocessor : 99999999999\nflags\n")
      .file("proc/meminfo", "MemTotal: lots\n")
      .file("proc/self/cgroup", "::\n0\n0::/../../x\n")
      .file("sys/fs/cgroup/memory.max", "-5\n")
      .file("sys/fs/cgroup/cpu.max", "oops");
  const Cpu nonsense = read_cpu(root.path());
  EXPECT_EQ(nonsense.threads, 0);
  EXPECT_FALSE(nonsense.memory_limit);
  EXPECT_FALSE(nonsense.cpu_quota);
}

TEST(ThisMachine, CgroupVersionTwoLimitsMemoryAndCores) {
  FakeRoot root;
  root.file("proc/cpuinfo", x86_cpu(0, 0, "avx2 fma", "1000") + x86_cpu(1, 1, "avx2 fma", "1000"))
      .file("proc/meminfo", "MemTotal: 1048576 kB\n")
      .file("proc/self/cgroup", "0::/pod/box\n")
      .file("sys/fs/cgroup/pod/memory.max", "536870912\n")
      .file("sys/fs/cgroup/pod/box/memory.max", "max\n")
      .file("sys/fs/cgroup/pod/box/cpu.max", "50000 100000\n");
  const Device device = describe(read_cpu(root.path()));
  EXPECT_EQ(capacity(device), Bytes(536870912)) << "the parent's limit binds too";
  EXPECT_EQ(device.memory->value, 0x1p30);
  EXPECT_EQ(device.usable_memory->source, "the cgroup's memory limit");
  EXPECT_DOUBLE_EQ(fp32(device).value, 0.5 * 1e9 * 32);
  EXPECT_THAT(fp32(device).source, HasSubstr("0.5 of 2 cores"));
}

TEST(ThisMachine, CgroupVersionOne) {
  FakeRoot root;
  root.file("proc/cpuinfo", x86_cpu(0, 0, "avx2 fma", "1000"))
      .file("proc/meminfo", "MemTotal: 1048576 kB\n")
      .file("proc/self/cgroup", "5:memory:/docker/abc\n4:cpu,cpuacct:/docker/abc\n1:name=systemd:/\n")
      .file("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_FALSE(read_cpu(root.path()).memory_limit) << "the huge number means none";
  root.file("sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "268435456\n")
      .file("sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_quota_us", "25000\n")
      .file("sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_period_us", "100000\n");
  const Cpu cpu = read_cpu(root.path());
  EXPECT_EQ(cpu.memory_limit, Bytes(268435456));
  EXPECT_EQ(cpu.cpu_quota, 0.25);
}

TEST(ThisMachine, GpusTakeTheirMemoryFromTheDriver) {
  FakeRoot root;
  const nvml::FakeLibrary library({
      {.name = "NVIDIA H200",
       .memory = nvml::Memory{143771 * kMiB, 143000 * kMiB, 771 * kMiB, 616 * kMiB},
       .capability = nvml::ComputeCapability{9, 0},
       .power_limit = Watts(650)},
      {.name = "NVIDIA A10G", .memory = nvml::Memory{23028 * kMiB, 23028 * kMiB, Bytes(0)}},
      {.name = "NVIDIA H200 MIG 1g.18gb", .memory = nvml::Memory{16384 * kMiB, 16384 * kMiB, Bytes(0)}},
      {.name = "Tesla T4"},
      {.name = ""},
  });
  const ThisMachine machine = describe_machine(*built_in_catalogue(), &library, root.path());
  ASSERT_EQ(machine.gpus.size(), 5U);
  const Device& h200 = machine.gpus[0];
  EXPECT_EQ(h200.id, "h200");
  EXPECT_EQ(h200.memory->provenance, Provenance::measured);
  EXPECT_EQ(capacity(h200), 143155 * kMiB);
  EXPECT_EQ(power(h200), Watts(650));
  EXPECT_EQ(peak_rate(h200, Arithmetic::bf16), FlopsPerSecond(989e12));
  EXPECT_EQ(&machine.main_device(), &h200);

  EXPECT_EQ(machine.gpus[1].id, "nvidia-a10g");
  EXPECT_EQ(capacity(machine.gpus[1]), 23028 * kMiB);
  EXPECT_FALSE(machine.gpus[1].peak_of(Arithmetic::fp32)) << "not taken for an A10";

  EXPECT_EQ(machine.gpus[2].id, "nvidia-h200-mig-1g-18gb");
  EXPECT_THAT(machine.gpus[2].notes.at(0), HasSubstr("slice of h200"));
  EXPECT_FALSE(machine.gpus[2].peak_of(Arithmetic::fp32));

  EXPECT_EQ(machine.gpus[3].id, "t4");
  EXPECT_NEAR(*capacity(machine.gpus[3]) / kGiB, 14.56, 0.001) << "a silent driver leaves the catalogue";
  EXPECT_EQ(machine.gpus[4].id, "gpu");
}

TEST(ThisMachine, WithoutGpusTheCpuIsTheDevice) {
  FakeRoot root;
  const ThisMachine machine = describe_machine(*built_in_catalogue(), nullptr, root.path());
  EXPECT_EQ(machine.main_device().kind, DeviceKind::cpu);
}

TEST(ThisMachine, DeviceNamedTakesNamesFilesAndThis) {
  EXPECT_EQ(device_named("h200")->id, "h200");
  EXPECT_EQ(device_named("This-CPU")->kind, DeviceKind::cpu);
  EXPECT_TRUE(device_named("this"));
  EXPECT_THAT(device_named("no/such.json").error().text(), HasSubstr("no such file"));
  EXPECT_FALSE(device_named("a100"));
  const auto file = device_named(PLIMSOLL_SOURCE_DIR "/data/devices/t4.json");
  ASSERT_TRUE(file) << file.error().text();
  EXPECT_EQ(file->id, "t4");
}

}  // namespace
}  // namespace plimsoll::hardware
