#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nvml/fake.hpp"
#include "telemetry/sampler.hpp"
#include "telemetry/test_root.hpp"

namespace plimsoll::telemetry {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Key;
using testing::Not;

nvml::Activity activity(double sm) {
  nvml::Activity out;
  out[nvml::kSmActivity] = sm;
  return out;
}

/// A GPU at 300 W with half of its SMs at work, and two runs of one process each.
class Gpu : public testing::Test {
 protected:
  Gpu()
      : library({{.name = "NVIDIA H200",
                  .memory = nvml::Memory{Bytes(1000), Bytes(400), Bytes(600)},
                  .processes = std::vector<nvml::Process>{},
                  .power = nvml::Power{Watts(300), true},
                  .energy = Joules(5000),
                  .utilization = nvml::Utilization{1.0, 0.4},
                  .sm_clock = 1.98e9,
                  .memory_clock = 3.2e9,
                  .temperature = 55,
                  .throttle = 4,
                  .process_utilization = std::vector<nvml::ProcessUtilization>{},
                  .activity = activity(0.5)}}) {
    root.process({.pid = 100});
    root.process({.pid = 200});
  }

  SamplerOptions options(double rate = 10) {
    SamplerOptions out = root.options(rate);
    out.nvml = &library;
    out.devices = {0};
    return out;
  }
  /// Frames a tenth of a second apart, in each of which the GPU uses 30 J.
  std::map<std::string, double> next(Sampler& sampler, int frames) {
    std::map<std::string, double> out;
    for (int i = 0; i < frames; ++i) {
      for (const auto& [name, value] :
           named_values(sampler, sampler.sample(tenths_ * 100'000, static_cast<double>(tenths_) * 0.1)))
        out[name] = value;
      ++tenths_;
      if (library.device(0).energy) *library.device(0).energy += Joules(30);
    }
    return out;
  }
  void on_gpu(std::vector<nvml::Process> processes) { library.device(0).processes = std::move(processes); }
  void used(std::vector<std::pair<unsigned, double>> shares) {
    library.device(0).process_utilization.emplace();
    for (const auto& [pid, share] : shares)
      library.device(0).process_utilization->push_back({pid, ++told_, share, 0});
  }
  static std::string source(const Sampler& sampler, std::string_view name, int run) {
    std::string out;
    for (const Series& series : sampler.series())
      if (series.name == name && series.run == run) out = series.source;
    return out;
  }

  TestRoot root;
  nvml::FakeLibrary library;

 private:
  std::int64_t tenths_ = 0;
  std::uint64_t told_ = 0;
};

TEST_F(Gpu, TellsWhatItDoes) {
  Sampler sampler(options());
  const auto values = next(sampler, 11);
  EXPECT_EQ(values.at("system/gpu/0/sm_activity"), 0.5);
  EXPECT_EQ(values.at("system/gpu/0/utilization"), 1.0) << "the difference is the point";
  EXPECT_EQ(values.at("system/gpu/0/memory_used"), 600);
  EXPECT_EQ(values.at("system/gpu/0/power"), 300);
  EXPECT_NEAR(values.at("system/gpu/0/energy"), 300, 1e-9)
      << "since sampling began, not since the driver was";
  EXPECT_EQ(values.at("system/gpu/0/sm_clock"), 1.98e9);
  EXPECT_EQ(values.at("system/gpu/0/temperature"), 55);
  EXPECT_EQ(values.at("system/gpu/0/throttle"), 4);
  EXPECT_THAT(values, Not(Contains(Key("system/gpu/0/tensor_activity")))) << "not counted, so not told";
}

TEST_F(Gpu, SlowSourcesAreReadSlowly) {
  Sampler sampler(options(100));
  std::map<std::string, int> times;
  for (int i = 0; i < 110; ++i)
    for (const auto& [name, value] : named_values(sampler, sampler.sample(i * 10'000, i * 0.01)))
      ++times[name];
  EXPECT_EQ(times.at("system/gpu/0/power"), 55);
  EXPECT_EQ(times.at("system/gpu/0/energy"), 55) << "as often as the power of which it is summed up";
  EXPECT_EQ(times.at("system/gpu/0/temperature"), 2);
  EXPECT_EQ(times.at("system/gpu/0/sm_activity"), 1) << "the first window ends a second in";
}

TEST_F(Gpu, AnEnergyCounterThatGoesBackWasReset) {
  Sampler sampler(options());
  EXPECT_NEAR(next(sampler, 5).at("system/gpu/0/energy"), 120, 1e-9);
  library.device(0).energy = Joules(7);
  EXPECT_NEAR(next(sampler, 301).at("system/gpu/0/energy"), 9150, 1e-9) << "the power goes on";
}

TEST_F(Gpu, TheCounterCorrectsWhatWasSummedUpAndTheSumNeverFalls) {
  Sampler sampler(options());
  next(sampler, 1);
  library.device(0).power = nvml::Power{Watts(330), true};  // a tenth too much: the counter goes by 300 W
  double before = 0;
  for (int i = 0; i < 650; ++i) {
    const double energy = next(sampler, 1).at("system/gpu/0/energy");
    EXPECT_GE(energy, before);
    before = energy;
  }
  EXPECT_NEAR(before, 300 * 65.0, 30 * 30 + 10)
      << "never further off than what came since the counter was read";
}

TEST_F(Gpu, WithoutACounterPowerIsSummed) {
  library.device(0).energy.reset();
  Sampler sampler(options());
  EXPECT_NEAR(next(sampler, 11).at("system/gpu/0/energy"), 300, 1e-6) << "300 W over a second";
}

TEST_F(Gpu, OneRunAloneGetsAll) {
  on_gpu({{100, Bytes(64)}});
  Sampler sampler(options());
  sampler.watch({.run = 1, .root = 100, .devices = {0}});
  const auto values = next(sampler, 21);
  EXPECT_EQ(values.at("system/run/gpu/0/memory#1"), 64);
  EXPECT_EQ(values.at("system/run/gpu/0/sm_share#1"), 1);
  EXPECT_EQ(values.at("system/run/gpu/0/sm_activity#1"), 0.5);
  EXPECT_NEAR(values.at("system/run/gpu/0/energy#1"), 600, 1e-9);
  EXPECT_EQ(source(sampler, "system/run/gpu/0/sm_share", 1), "alone on the GPU");
}

TEST_F(Gpu, TwoRunsShareByTheDriversTime) {
  on_gpu({{100, Bytes(64)}, {200, Bytes(32)}});
  Sampler sampler(options());
  sampler.watch({.run = 1, .root = 100, .devices = {0}});
  sampler.watch({.run = 2, .root = 200, .devices = {0}});
  next(sampler, 1);
  used({{100, 0.9}, {200, 0.3}});
  const auto values = next(sampler, 20);
  EXPECT_NEAR(values.at("system/run/gpu/0/sm_share#1"), 0.75, 1e-12);
  EXPECT_NEAR(values.at("system/run/gpu/0/sm_activity#2"), 0.125, 1e-12);
  EXPECT_NEAR(values.at("system/run/gpu/0/energy#1") + values.at("system/run/gpu/0/energy#2"), 600, 1e-9);
  EXPECT_EQ(source(sampler, "system/run/gpu/0/energy", 2), "NVML; NVML per-process time share");
  EXPECT_THAT(next(sampler, 40), Contains(Key("system/run/gpu/0/unattributed#1")))
      << "what the driver told long ago does not hold for ever";
}

TEST_F(Gpu, AStrangersPartIsNobodys) {
  on_gpu({{100, Bytes(64)}, {999, Bytes(32)}});
  Sampler sampler(options());
  sampler.watch({.run = 1, .root = 100, .devices = {0}});
  next(sampler, 1);
  used({{100, 0.2}, {999, 0.8}});
  const auto values = next(sampler, 20);
  EXPECT_NEAR(values.at("system/run/gpu/0/sm_share#1"), 0.2, 1e-12);
  EXPECT_NEAR(values.at("system/run/gpu/0/energy#1"), 120, 1e-9);
}

TEST_F(Gpu, ClientsOfMpsShareByTheWeightsGiven) {
  root.process({.pid = 50, .name = "nvidia-cuda-mps"});
  root.write("proc/50/comm", "nvidia-cuda-mps\n");
  on_gpu({{50, Bytes(66)}, {100, Bytes(64)}, {200, Bytes(32)}});
  Sampler sampler(options());
  sampler.watch({.run = 1, .root = 100, .devices = {0}});
  sampler.watch({.run = 2, .root = 200, .devices = {0}});
  next(sampler, 1);
  used({{50, 1.0}});
  EXPECT_THAT(next(sampler, 10), Not(Contains(Key("system/run/gpu/0/sm_share#1"))))
      << "the driver counts the clients as the server";
  sampler.weigh(1, 0, 0.6);
  sampler.weigh(2, 0, 0.2);
  const auto values = next(sampler, 10);
  EXPECT_NEAR(values.at("system/run/gpu/0/sm_share#1"), 0.75, 1e-12);
  EXPECT_EQ(source(sampler, "system/run/gpu/0/sm_share", 1), "activity alone x progress");
  sampler.weigh(2, 0, std::nullopt);
  EXPECT_THAT(next(sampler, 10), Not(Contains(Key("system/run/gpu/0/sm_share#1"))));
}

TEST_F(Gpu, AServerThatTheCallerNamesIsNobody) {
  on_gpu({{50, Bytes(66)}, {100, Bytes(64)}});
  Sampler sampler(options());
  sampler.ignore(50);
  sampler.watch({.run = 1, .root = 100, .devices = {0}});
  EXPECT_EQ(next(sampler, 11).at("system/run/gpu/0/sm_share#1"), 1);
}

TEST_F(Gpu, AnIdleGpuIsSharedEqually) {
  library.device(0).activity = activity(0);
  on_gpu({{100, Bytes(64)}, {200, Bytes(32)}});
  Sampler sampler(options());
  sampler.watch({.run = 1, .root = 100, .devices = {0}});
  sampler.watch({.run = 2, .root = 200, .devices = {0}});
  const auto values = next(sampler, 21);
  EXPECT_EQ(values.at("system/run/gpu/0/sm_share#1"), 0.5);
  EXPECT_EQ(values.at("system/run/gpu/0/sm_share#2"), 0.5);
}

TEST_F(Gpu, WithoutActivityCountersUtilizationTellsIdleness) {
  library.device(0).activity.reset();
  library.device(0).utilization = nvml::Utilization{0, 0};
  on_gpu({{100, Bytes(64)}, {200, Bytes(32)}});
  Sampler sampler(options());
  sampler.watch({.run = 1, .root = 100, .devices = {0}});
  sampler.watch({.run = 2, .root = 200, .devices = {0}});
  EXPECT_EQ(next(sampler, 21).at("system/run/gpu/0/sm_share#1"), 0.5);
  library.device(0).utilization = nvml::Utilization{0.01, 0};
  next(sampler, 10);
  EXPECT_THAT(next(sampler, 10), Not(Contains(Key("system/run/gpu/0/sm_share#1"))));
}

TEST_F(Gpu, AProcessThatJustBeganIsFoundAtOnce) {
  Sampler sampler(options());
  sampler.watch({.run = 1, .root = 100, .devices = {0}});
  next(sampler, 6);
  root.process({.pid = 101, .parent = 100});
  on_gpu({{101, Bytes(64)}});
  EXPECT_EQ(next(sampler, 16).at("system/run/gpu/0/memory#1"), 64) << "before the next scan of the tree";
}

TEST_F(Gpu, MemoryThatTheDriverHidesIsUnknown) {
  on_gpu({{100, std::nullopt}});
  Sampler sampler(options());
  sampler.watch({.run = 1, .root = 100, .devices = {0}});
  const auto values = next(sampler, 21);
  EXPECT_THAT(values, Not(Contains(Key("system/run/gpu/0/memory#1"))));
  EXPECT_THAT(values, Contains(Key("system/run/gpu/0/sm_share#1")));
}

TEST_F(Gpu, SlicesHaveCountersOfTheirOwn) {
  library.device(0).activity.reset();
  library.device(0).mig = {{.gpu_instance = 7, .memory = nvml::Memory{Bytes(10), Bytes(6), Bytes(4)}}};
  library.device(0).instance_activity[7] = activity(0.25);
  Sampler sampler(options());
  const auto values = next(sampler, 6);
  EXPECT_EQ(values.at("system/gpu/0/mig/7/sm_activity"), 0.25);
  EXPECT_EQ(values.at("system/gpu/0/mig/7/memory_used"), 4);
  EXPECT_THAT(values, Not(Contains(Key("system/gpu/0/sm_activity"))));
}

TEST_F(Gpu, RunsOnSlicesOfTheirOwnShareByWhatThoseDid) {
  library.device(0).activity.reset();
  library.device(0).mig = {{.gpu_instance = 7, .slices = 4}, {.gpu_instance = 9, .slices = 2}};
  library.device(0).instance_activity[7] = activity(0.5);
  library.device(0).instance_activity[9] = activity(1.0);
  on_gpu({{100, Bytes(64), 7}, {200, Bytes(32), 9}});
  Sampler sampler(options());
  sampler.watch({.run = 1, .root = 100, .devices = {0}});
  sampler.watch({.run = 2, .root = 200, .devices = {0}});
  auto values = next(sampler, 21);
  EXPECT_NEAR(values.at("system/run/gpu/0/sm_share#1"), 0.5, 1e-12) << "0.5 x 4 of 0.5 x 4 + 1.0 x 2";
  EXPECT_EQ(values.at("system/run/gpu/0/sm_activity#1"), 0.5) << "of its own slice";
  EXPECT_EQ(values.at("system/run/gpu/0/sm_activity#2"), 1.0);
  EXPECT_NEAR(values.at("system/run/gpu/0/energy#1") + values.at("system/run/gpu/0/energy#2"), 600, 1e-9);
  EXPECT_EQ(source(sampler, "system/run/gpu/0/sm_share", 2), "activity x size of its MIG slices");
  // A stranger comes onto the second run's slice.
  on_gpu({{100, Bytes(64), 7}, {200, Bytes(32), 9}, {999, Bytes(1), 9}});
  next(sampler, 10);
  values = next(sampler, 10);
  EXPECT_THAT(values, Not(Contains(Key("system/run/gpu/0/sm_share#2"))));
  EXPECT_THAT(values, Not(Contains(Key("system/run/gpu/0/sm_activity#2"))));
}

TEST_F(Gpu, OneThatAnswersNothingIsLeftOut) {
  library.device(0) = {.name = "NVIDIA Tesla K80"};
  Sampler sampler(options());
  sampler.watch({.run = 1, .root = 100, .devices = {0}});
  next(sampler, 21);
  for (const Series& series : sampler.series()) EXPECT_THAT(series.name, Not(HasSubstr("gpu")));
}

}  // namespace
}  // namespace plimsoll::telemetry
