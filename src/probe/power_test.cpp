#include "probe/power.hpp"

#include <cmath>
#include <cstdlib>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.hpp"
#include "nvml/fake.hpp"

namespace plimsoll::probe {
namespace {

using testing::HasSubstr;

/// Reads a counter of `watts` that is updated every `period`, every `gap` seconds.
TickedPower watched(double watts, double period, double gap, double seconds, double offset = 0.03) {
  TickedPower ticks;
  for (int i = 0; i * gap < seconds; ++i) {
    const double time = 100 + i * gap;
    ticks.read(time, Joules(1e6 + watts * period * std::floor((time + offset) / period)));
  }
  return ticks;
}

TEST(TickedPowerTest, FollowsTheUpdatesOfTheCounter) {
  for (const double offset : {0.0, 0.03, 0.05, 0.09}) {
    const auto power = watched(700, 0.1, 0.02, 3, offset).power();
    ASSERT_TRUE(power);
    EXPECT_NEAR(power->mean.value(), 700, 700 * 0.02 / 2.5) << offset;
    EXPECT_NEAR(power->seconds, 2.8, 0.15);
    EXPECT_NEAR(power->uncertainty, 0.02 / 2.8, 0.001);
  }
}

TEST(TickedPowerTest, TooFewUpdatesTellNothing) {
  EXPECT_FALSE(watched(700, 0.1, 0.02, 0.9).power());
  EXPECT_FALSE(watched(0, 0.1, 0.02, 9).power());  // it stands still
  EXPECT_FALSE(TickedPower().power());
}

TEST(TickedPowerTest, ACounterThatGoesBackTellsNothing) {
  TickedPower ticks = watched(700, 0.1, 0.02, 3);
  ticks.read(104, Joules(5));
  ticks.read(105, Joules(9e9));
  EXPECT_FALSE(ticks.power());
}

/// NVML with a counter that every question moves on, by 2 J. Who works under it learns of each by a file.
class Counting : public nvml::FakeLibrary {
 public:
  Counting() : FakeLibrary({device("GPU-a"), device("GPU-b")}) {}
  Result<Joules> energy(unsigned device) const override {
    if (device != 1) return FakeLibrary::energy(device);
    std::ofstream(readings(), std::ios::app) << '.';
    return Joules(1000 + 2.0 * ++asked_);
  }
  [[nodiscard]] std::string readings() const { return (folder_->path() / "readings").string(); }
  mutable int asked_ = 0;

 private:
  Result<TemporaryDirectory> folder_ = TemporaryDirectory::make();
  static nvml::FakeDevice device(std::string uuid) {
    nvml::FakeDevice made{.name = "NVIDIA H200"};
    made.uuid = std::move(uuid);
    return made;
  }
};

class PowerStudying : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("PLIMSOLL_FAKE_CUDA_UUID", "GPU-b", 1);
    ::setenv("PLIMSOLL_FAKE_CUDA_SECONDS", "0.2", 1);
    ::setenv("PLIMSOLL_FAKE_COUNTER_READ", library_.readings().c_str(), 1);
  }
  void TearDown() override {
    for (const char* name : {"PLIMSOLL_FAKE_CUDA", "PLIMSOLL_FAKE_CUDA_UUID", "PLIMSOLL_FAKE_CUDA_SECONDS",
                             "PLIMSOLL_FAKE_COUNTER_READ"})
      ::unsetenv(name);
  }
  Result<PowerFindings> study(const nvml::Library& library, std::vector<cuda::Load> loads) {
    return study_power(std::filesystem::path(PLIMSOLL_SOURCE_DIR) / "tests/fixtures/fake_cuda.py", library,
                       {.loads = std::move(loads)}, {}, listener_);
  }
  CudaListener listener_;
  Counting library_;
};

TEST_F(PowerStudying, EveryLoadHasItsPower) {
  std::vector<double> progress;
  listener_.on_device = [&](const cuda::Device&) { progress.push_back(0); };
  const Result<PowerFindings> found =
      study(library_, {cuda::Load::idle, cuda::Load::memory_triad, cuda::Load::product_bf16});
  ASSERT_TRUE(found) << found.error().text();
  EXPECT_THAT(found->remarks, testing::IsEmpty());
  EXPECT_EQ(progress.size(), 3U);
  ASSERT_EQ(found->loads.size(), 3U);
  const LoadPower &idle = found->loads[0], &triad = found->loads[1], &product = found->loads[2];
  EXPECT_GT(idle.power.value(), 0);
  EXPECT_FALSE(idle.joules_per_flop || idle.joules_per_byte);
  EXPECT_FALSE(triad.joules_per_flop);
  EXPECT_NEAR(*triad.joules_per_byte, triad.power.value() / 4e12, 1e-6 * *triad.joules_per_byte);
  EXPECT_FALSE(product.joules_per_byte);
  EXPECT_NEAR(*product.joules_per_flop, product.power.value() / 7e14, 1e-6 * *product.joules_per_flop);
}

TEST_F(PowerStudying, WithoutACounterNothingIsRun) {
  const nvml::FakeLibrary none({{.name = "NVIDIA H200"}});
  bool started = false;
  listener_.on_device = [&](const cuda::Device&) { started = true; };
  const Result<PowerFindings> found = study(none, {cuda::Load::idle});
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->loads.empty());
  EXPECT_FALSE(started);
  EXPECT_THAT(found->remarks, testing::ElementsAre(HasSubstr("no energy counter")));
}

TEST_F(PowerStudying, TheCounterOfAnotherGpuIsNotTaken) {
  ::setenv("PLIMSOLL_FAKE_CUDA_UUID", "GPU-a", 1);
  const Result<PowerFindings> found = study(library_, {cuda::Load::idle, cuda::Load::product_bf16});
  ASSERT_TRUE(found) << found.error().text();
  EXPECT_TRUE(found->loads.empty());
  EXPECT_EQ(found->remarks.size(), 1U);
}

TEST_F(PowerStudying, AFirstLoadThatFailsIsAnErrorAndAnInterruptionIsNone) {
  ::setenv("PLIMSOLL_FAKE_CUDA", "no-device", 1);
  const Result<PowerFindings> lacking = study(library_, {cuda::Load::idle});
  ASSERT_FALSE(lacking);
  EXPECT_EQ(lacking.error().kind, Error::Kind::machine_lacks);
  ::setenv("PLIMSOLL_FAKE_CUDA", "", 1);
  listener_.interrupted = [] { return true; };
  const Result<PowerFindings> found = study(library_, {cuda::Load::idle, cuda::Load::product_bf16});
  ASSERT_TRUE(found) << found.error().text();
  EXPECT_TRUE(found->interrupted);
}

TEST(PowerCeilings, NameWhatWasMeasured) {
  PowerFindings findings;
  findings.loads.push_back(
      {.load = cuda::Load::idle, .power = Watts(110), .seconds = 4.9, .uncertainty = 0.01});
  findings.loads.push_back(
      {.load = cuda::Load::memory_triad, .power = Watts(520), .seconds = 4.9, .joules_per_byte = 1.3e-10});
  findings.loads.push_back(
      {.load = cuda::Load::product_bf16, .power = Watts(695), .seconds = 4.9, .joules_per_flop = 9e-13});
  const auto ceilings = power_ceilings(findings, "2026-11-15");
  ASSERT_EQ(ceilings.size(), 4U);
  EXPECT_EQ(ceilings[0].name, "idle-power");
  EXPECT_EQ(ceilings[0].unit, "W");
  EXPECT_DOUBLE_EQ(ceilings[0].figure.value, 110);
  EXPECT_DOUBLE_EQ(ceilings[0].spread, 0.01);
  EXPECT_EQ(ceilings[0].figure.provenance, Provenance::measured);
  EXPECT_EQ(ceilings[0].figure.date, "2026-11-15");
  EXPECT_EQ(ceilings[1].name, "energy-memory-triad");
  EXPECT_EQ(ceilings[1].unit, "J/B");
  EXPECT_EQ(ceilings[2].name, "energy-product-bf16");
  EXPECT_EQ(ceilings[2].unit, "J/FLOP");
  EXPECT_EQ(ceilings[3].name, "load-power");
  EXPECT_DOUBLE_EQ(ceilings[3].figure.value, 695);
  EXPECT_THAT(ceilings[3].figure.source, HasSubstr("product-bf16"));
  EXPECT_TRUE(power_ceilings({}, "").empty());
}

}  // namespace
}  // namespace plimsoll::probe
