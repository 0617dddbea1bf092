#include "measure/conditions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "measure/energy.hpp"
#include "nvml/fake.hpp"
#include "telemetry/test_root.hpp"

namespace plimsoll::measure {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

nvml::FakeDevice h200(std::string uuid) {
  nvml::FakeDevice device{.name = "NVIDIA H200", .uuid = std::move(uuid)};
  device.processes.emplace();
  device.power = nvml::Power{Watts(100), true};
  device.energy = Joules(1000);
  device.sm_clock = 1.98e9;
  device.memory_clock = 3.2e9;
  device.temperature = 50;
  device.throttle = 0;
  return device;
}

job::Hello hello(std::string uuid) {
  job::Hello h;
  h.device = "cuda:0";
  h.gpu_uuid = std::move(uuid);
  h.process = 4242;
  return h;
}

TEST(Conditions, TheGpuIsFoundByItsUuidNotItsNumber) {
  nvml::FakeLibrary library({h200("GPU-a"), h200("GPU-b")});
  ConditionsWatch watch(&library);
  watch.greeted(hello("GPU-b"));
  EXPECT_EQ(watch.gpu(), 1U);
  ConditionsWatch lost(&library);
  lost.greeted(hello("GPU-c"));
  EXPECT_EQ(lost.gpu(), std::nullopt);
}

TEST(Conditions, WithoutAUuidTheOnlyGpuIsMeant) {
  nvml::FakeLibrary one({h200("GPU-a")});
  job::Hello nameless;
  nameless.device = "cuda:0";
  ConditionsWatch watch(&one);
  watch.greeted(nameless);
  EXPECT_EQ(watch.gpu(), 0U);
  nvml::FakeLibrary two({h200("GPU-a"), h200("GPU-b")});
  ConditionsWatch unsure(&two);
  unsure.greeted(nameless);
  EXPECT_EQ(unsure.gpu(), std::nullopt);
}

TEST(Conditions, RangesAreThoseOfSteadyPasses) {
  nvml::FakeLibrary library({h200("GPU-a")});
  library.device(0).sm_clock = 345e6;  // idle before
  ConditionsWatch watch(&library);
  watch.greeted(hello("GPU-a"));
  watch.sample(0, false);
  library.device(0).sm_clock = 1.98e9;
  watch.sample(1, true);
  library.device(0).sm_clock = 1.9e9;
  library.device(0).throttle = 0x4;
  watch.sample(2, true);
  library.device(0).sm_clock = 345e6;
  const Conditions found = watch.finish();
  ASSERT_TRUE(found.gpu);
  EXPECT_EQ(found.gpu->before.sm_clock, 345e6);
  EXPECT_EQ(found.gpu->sm_clock, (Extent{1.9e9, 1.98e9}));
  EXPECT_EQ(found.gpu->power, (Extent{100, 100}));
  EXPECT_EQ(found.gpu->throttle, 0x4U);
  EXPECT_EQ(found.gpu->after.sm_clock, 345e6);
  EXPECT_THAT(doubts(found, true), ElementsAre(HasSubstr("held down: power limit")));
}

TEST(Conditions, AClockThatMovesMakesItDoubtful) {
  Conditions conditions;
  conditions.gpu.emplace();
  conditions.gpu->sm_clock = Extent{1.91e9, 1.98e9};
  EXPECT_THAT(doubts(conditions, true), IsEmpty());
  conditions.gpu->sm_clock = Extent{1.80e9, 1.98e9};
  EXPECT_THAT(doubts(conditions, true), ElementsAre(HasSubstr("from 1.80 GHz to 1.98 GHz")));
}

TEST(Conditions, OthersAreThoseBeforeAndThoseThatCame) {
  nvml::FakeLibrary library({h200("GPU-a")});
  library.device(0).processes = std::vector{nvml::Process{.pid = 7, .used = Bytes(100)}};
  telemetry::TestRoot root;
  root.write("proc/7/comm", "python\n");
  ConditionsWatch watch(&library, {root.proc(), root.sys()});
  watch.greeted(hello("GPU-a"));
  library.device(0).processes = {{.pid = 7, .used = Bytes(200)}, {.pid = 4242}, {.pid = 8}};
  library.device(0).process_utilization = {{.pid = 7, .time = 5, .sm = 0.5, .memory = 0},
                                           {.pid = 4242, .time = 5, .sm = 0.5, .memory = 0}};
  watch.sample(10, true);
  const Conditions found = watch.finish();
  ASSERT_TRUE(found.gpu);
  ASSERT_EQ(found.gpu->others.size(), 2U);
  EXPECT_EQ(found.gpu->others[0].bytes, Bytes(200));
  EXPECT_EQ(found.gpu->others[0].activity, 0.5);
  EXPECT_EQ(found.gpu->others[1].activity, 0);
  EXPECT_THAT(doubts(found, true),
              ElementsAre(HasSubstr("python (process 7) used 50 % of the GPU's time, 200 B")));
}

/// In a container the driver tells the host's numbers: whoever is new may be the engine itself.
TEST(Conditions, AnEngineUnderAnotherNumberIsNoStranger) {
  nvml::FakeLibrary library({h200("GPU-a")});
  ConditionsWatch watch(&library);
  watch.greeted(hello("GPU-a"));
  library.device(0).processes = std::vector{nvml::Process{.pid = 999'999}};
  watch.sample(10, true);
  EXPECT_THAT(watch.finish().gpu->others, IsEmpty());
}

TEST(Conditions, OtherProgramsOnTheCpuMakeItDoubtful) {
  Conditions conditions;
  conditions.host = {.cores = 8, .other_cores = 0.5};
  EXPECT_THAT(doubts(conditions, false), IsEmpty());
  conditions.host.other_cores = 1.5;
  EXPECT_THAT(doubts(conditions, false), ElementsAre("other programs kept 1.5 of 8 cores busy"));
}

TEST(Energy, IsTheCountersDifferenceOverThePasses) {
  nvml::FakeLibrary library({h200("GPU-a")});
  const auto counter = gpu_counter(library, 0);
  ASSERT_NE(counter, nullptr);
  EnergyMeter meter;
  meter.begin(counter.get());
  library.device(0).energy = Joules(1600);
  const auto energy = meter.end({.begin = false, .passes = 300, .seconds = 2});
  ASSERT_TRUE(energy);
  EXPECT_EQ(energy->per_pass, Joules(2));
  EXPECT_EQ(energy->window, Joules(600));
  EXPECT_DOUBLE_EQ(energy->uncertainty, 0.1);
  EXPECT_EQ(energy->source, "NVML");
}

TEST(Energy, IsAbsentRatherThanZero) {
  nvml::FakeLibrary library({h200("GPU-a")});
  const auto counter = gpu_counter(library, 0);
  EnergyMeter meter;
  meter.begin(counter.get());
  EXPECT_EQ(meter.end({.begin = false, .passes = 300, .seconds = 2}), std::nullopt)
      << "the counter stood still";
  library.device(0).energy = Joules(1600);
  EXPECT_EQ(meter.end({.begin = false, .passes = 300, .seconds = 0.9}), std::nullopt) << "too short";
  EXPECT_EQ(meter.end({.begin = false, .passes = 0, .seconds = 2}), std::nullopt);
  library.device(0).energy.reset();
  EXPECT_EQ(meter.end({.begin = false, .passes = 300, .seconds = 2}), std::nullopt);
  EXPECT_EQ(gpu_counter(library, 0), nullptr);
  meter.begin(nullptr);
  EXPECT_EQ(meter.end({.begin = false, .passes = 300, .seconds = 2}), std::nullopt);
}

TEST(Energy, ASlicesBoardIsNotItsOwn) {
  nvml::FakeLibrary library({h200("GPU-a")});
  library.device(0).mig = {{.gpu_instance = 1, .uuid = "MIG-1"}};
  EXPECT_EQ(gpu_counter(library, 0), nullptr);
  ConditionsWatch watch(&library);
  watch.greeted(hello("MIG-1"));
  EXPECT_TRUE(watch.sliced());
}

TEST(Energy, OfTheCpuIsAllPackagesOverWrapArounds) {
  telemetry::TestRoot root;
  root.write("sys/class/powercap/intel-rapl:0/name", "package-0\n");
  root.write("sys/class/powercap/intel-rapl:0/max_energy_range_uj", "100000000\n");
  root.write("sys/class/powercap/intel-rapl:0/energy_uj", "90000000\n");
  root.write("sys/class/powercap/intel-rapl:1/name", "package-1\n");
  root.write("sys/class/powercap/intel-rapl:1/energy_uj", "0\n");
  const auto counter = cpu_counter(root.sys());
  ASSERT_NE(counter, nullptr);
  EnergyMeter meter;
  meter.begin(counter.get());
  root.write("sys/class/powercap/intel-rapl:0/energy_uj", "5000000\n");
  root.write("sys/class/powercap/intel-rapl:1/energy_uj", "5000000\n");
  const auto energy = meter.end({.begin = false, .passes = 10, .seconds = 2});
  ASSERT_TRUE(energy);
  EXPECT_DOUBLE_EQ(energy->window.value(), 20);
  EXPECT_EQ(energy->source, "RAPL");
  EXPECT_EQ(cpu_counter(root.proc()), nullptr);
}

}  // namespace
}  // namespace plimsoll::measure
