#include <cmath>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nvml/abi.hpp"
#include "nvml/library.hpp"

namespace plimsoll::nvml {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A driver's library in miniature: one GPU behind NVML's C interface, so that the calls and layouts of what
// is asked again and again run as they do against a real one.
int handles_asked = 0;
int samples_alive = 0;
abi::Return field_status = abi::kSuccess;
abi::Return old_utilization = abi::kSuccess;

abi::Return succeed() {
  return abi::kSuccess;
}
abi::Return device_count(unsigned* count) {
  *count = 1;
  return abi::kSuccess;
}
abi::Return device_by_index(unsigned index, abi::Device* device) {
  ++handles_asked;
  *device = reinterpret_cast<abi::Device>(std::uintptr_t{1});
  return index == 0 ? abi::kSuccess : 2;
}
abi::Return power(abi::Device, unsigned* milliwatts) {
  *milliwatts = 350'500;
  return abi::kSuccess;
}
abi::Return fields(abi::Device, int count, abi::FieldValue* values) {
  if (count != 1 || values->field != 186) return 2;
  values->status = field_status;
  values->type = abi::kUnsignedInt;
  values->value.whole = 612'250;
  return abi::kSuccess;
}
abi::Return energy(abi::Device, unsigned long long* millijoules) {
  *millijoules = 123'456'789'012ULL;
  return abi::kSuccess;
}
abi::Return utilization(abi::Device, abi::Utilization* rates) {
  *rates = {98, 31};
  return abi::kSuccess;
}
abi::Return clock(abi::Device, int kind, unsigned* megahertz) {
  *megahertz = kind == 1 ? 1980 : kind == 2 ? 3201 : 0;
  return abi::kSuccess;
}
abi::Return temperature(abi::Device, int sensor, unsigned* degrees) {
  *degrees = 61;
  return sensor == 0 ? abi::kSuccess : 2;
}
abi::Return throttle(abi::Device, unsigned long long* reasons) {
  *reasons = 0x24;
  return abi::kSuccess;
}
/// Some drivers fill unused places with process 0.
abi::Return process_utilization(abi::Device, abi::ProcessUtilization* samples, unsigned* count,
                                unsigned long long last_seen) {
  if (old_utilization != abi::kSuccess) return old_utilization;
  if (last_seen >= 5000) return abi::kNotFound;
  if (*count < 2) return abi::kInsufficientSize;
  *count = 2;
  samples[0] = {100, 5000, 80, 20, 0, 0};
  samples[1] = {0, 0, 0, 0, 0, 0};
  return abi::kSuccess;
}
abi::Return processes_utilization(abi::Device, abi::ProcessesUtilizationV1* request) {
  if (request->version != 0x01000018) return 25;
  if (request->count < 300) {
    request->count = 300;
    return abi::kInsufficientSize;
  }
  request->count = 1;
  request->samples[0] = {7000, 200, 40, 10, 0, 0, 0, 0};
  return abi::kSuccess;
}
abi::Return mig_mode(abi::Device, unsigned* current, unsigned* pending) {
  *current = *pending = 1;
  return abi::kSuccess;
}
abi::Return exclusive_process(abi::Device, unsigned* mode) {
  *mode = 3;
  return abi::kSuccess;
}
abi::Return mig_count(abi::Device, unsigned* count) {
  *count = 7;
  return abi::kSuccess;
}
abi::Return mig_by_index(abi::Device, unsigned index, abi::Device* slice) {
  *slice = reinterpret_cast<abi::Device>(std::uintptr_t{100} + index);
  return index == 1 || index == 3 ? abi::kSuccess : abi::kNotFound;
}
abi::Return gpu_instance(abi::Device slice, unsigned* instance) {
  *instance = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(slice)) - 90;
  return abi::kSuccess;
}
abi::Return compute_instance(abi::Device slice, unsigned* instance) {
  *instance = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(slice)) - 101;
  return abi::kSuccess;
}
abi::Return name_of(abi::Device, char* text, unsigned length) {
  const std::string_view name = "NVIDIA H200 MIG 1g.18gb";
  if (name.size() >= length) return abi::kInsufficientSize;
  name.copy(text, name.size());
  return abi::kSuccess;
}
/// The whole GPU tells an ordinary user nothing; a slice tells of itself.
abi::Return processes(abi::Device device, unsigned* count, abi::ProcessInfo* infos) {
  const auto number = reinterpret_cast<std::uintptr_t>(device);
  if (number < 100) return abi::kNoPermission;
  *count = 1;
  infos[0] = {static_cast<unsigned>(number), 50, static_cast<unsigned>(number) - 90, 0};
  return abi::kSuccess;
}
abi::Return attributes(abi::Device slice, abi::Attributes* found) {
  *found = {};
  found->gpu_slices = 3;
  found->multiprocessors = 16;
  return reinterpret_cast<std::uintptr_t>(slice) == 101 ? abi::kSuccess : abi::kNotSupported;
}
abi::Return memory(abi::Device, abi::Memory* info) {
  *info = {100, 70, 30};
  return abi::kSuccess;
}
abi::Return gpm_support(abi::Device, abi::GpmSupport* support) {
  support->supported = support->version == 1 ? 1 : 0;
  return abi::kSuccess;
}
abi::Return gpm_unsupported(abi::Device, abi::GpmSupport* support) {
  support->supported = 0;
  return abi::kSuccess;
}
abi::Return gpm_allocate(abi::GpmSample* sample) {
  *sample = reinterpret_cast<abi::GpmSample>(new double(-1));
  ++samples_alive;
  return abi::kSuccess;
}
abi::Return gpm_free(abi::GpmSample sample) {
  delete reinterpret_cast<double*>(sample);
  --samples_alive;
  return abi::kSuccess;
}
double& moment_of(abi::GpmSample sample) {
  return *reinterpret_cast<double*>(sample);
}
double moments = 0;
abi::Return gpm_take(abi::Device, abi::GpmSample sample) {
  moment_of(sample) = ++moments;
  return abi::kSuccess;
}
abi::Return gpm_take_mig(abi::Device, unsigned instance, abi::GpmSample sample) {
  moment_of(sample) = ++moments;
  return instance == 9 ? abi::kSuccess : abi::kNotFound;
}
/// SM activity: the distance of the two moments in percent. Tensor activity is broken, NVLink is not there.
abi::Return gpm_metrics(abi::GpmMetrics* request) {
  if (request->version != 1 || request->count > 98) return 25;
  const double distance = moment_of(request->to) - moment_of(request->from);
  for (unsigned i = 0; i < request->count; ++i) {
    abi::GpmMetric& metric = request->metrics[i];
    metric.status = metric.id >= 60 ? abi::kNotSupported : abi::kSuccess;
    metric.value = metric.id == 5 ? std::nan("") : metric.id == 20 ? 3 : distance;
  }
  return abi::kSuccess;
}

std::map<std::string, void*> driver() {
  const auto at = [](auto* function) { return reinterpret_cast<void*>(function); };
  return {{"nvmlInit_v2", at(&succeed)},
          {"nvmlShutdown", at(&succeed)},
          {"nvmlDeviceGetCount_v2", at(&device_count)},
          {"nvmlDeviceGetHandleByIndex_v2", at(&device_by_index)},
          {"nvmlDeviceGetPowerUsage", at(&power)},
          {"nvmlDeviceGetFieldValues", at(&fields)},
          {"nvmlDeviceGetTotalEnergyConsumption", at(&energy)},
          {"nvmlDeviceGetUtilizationRates", at(&utilization)},
          {"nvmlDeviceGetClockInfo", at(&clock)},
          {"nvmlDeviceGetTemperature", at(&temperature)},
          {"nvmlDeviceGetCurrentClocksEventReasons", at(&throttle)},
          {"nvmlDeviceGetProcessUtilization", at(&process_utilization)},
          {"nvmlDeviceGetProcessesUtilizationInfo", at(&processes_utilization)},
          {"nvmlDeviceGetMigMode", at(&mig_mode)},
          {"nvmlDeviceGetMaxMigDeviceCount", at(&mig_count)},
          {"nvmlDeviceGetMigDeviceHandleByIndex", at(&mig_by_index)},
          {"nvmlDeviceGetGpuInstanceId", at(&gpu_instance)},
          {"nvmlDeviceGetComputeInstanceId", at(&compute_instance)},
          {"nvmlDeviceGetName", at(&name_of)},
          {"nvmlDeviceGetComputeRunningProcesses_v3", at(&processes)},
          {"nvmlDeviceGetAttributes_v2", at(&attributes)},
          {"nvmlDeviceGetMemoryInfo", at(&memory)},
          {"nvmlGpmQueryDeviceSupport", at(&gpm_support)},
          {"nvmlGpmSampleAlloc", at(&gpm_allocate)},
          {"nvmlGpmSampleFree", at(&gpm_free)},
          {"nvmlGpmSampleGet", at(&gpm_take)},
          {"nvmlGpmMigSampleGet", at(&gpm_take_mig)},
          {"nvmlGpmMetricsGet", at(&gpm_metrics)}};
}

std::unique_ptr<Library> bound(std::map<std::string, void*> symbols = driver()) {
  auto library = bind([symbols = std::move(symbols)](const char* symbol) -> void* {
    const auto found = symbols.find(symbol);
    return found == symbols.end() ? nullptr : found->second;
  });
  EXPECT_TRUE(library);
  return *std::move(library);
}

TEST(Counters, AnswerThroughTheBinaryInterface) {
  const auto library = bound();
  EXPECT_EQ(library->energy(0), Joules(123'456'789.012));
  EXPECT_EQ(library->utilization(0), (Utilization{0.98, 0.31}));
  EXPECT_EQ(library->sm_clock(0), 1.98e9);
  EXPECT_EQ(library->memory_clock(0), 3.201e9);
  EXPECT_EQ(library->temperature(0), 61.0);
  EXPECT_EQ(library->throttle(0), 0x24U);
}

TEST(Counters, AHandleIsAskedForOnce) {
  const auto library = bound();
  handles_asked = 0;
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(library->temperature(0));
  EXPECT_EQ(handles_asked, 1);
  EXPECT_FALSE(library->temperature(1));
  EXPECT_FALSE(library->temperature(1'000'000));
}

TEST(Counters, PowerIsOfTheMomentWhereTheDriverTellsIt) {
  const auto library = bound();
  EXPECT_EQ(library->power(0), (Power{Watts(612.25), true}));
  field_status = abi::kNotSupported;
  EXPECT_EQ(library->power(0), (Power{Watts(350.5), false}));
  field_status = abi::kSuccess;
  auto symbols = driver();
  symbols.erase("nvmlDeviceGetFieldValues");
  EXPECT_EQ(bound(symbols)->power(0), (Power{Watts(350.5), false}));
}

TEST(Counters, NothingNewOfProcessesIsNoError) {
  const auto library = bound();
  const auto first = library->process_utilization(0, 0);
  ASSERT_TRUE(first);
  EXPECT_THAT(*first, ElementsAre(ProcessUtilization{100, 5000, 0.8, 0.2}));
  const auto second = library->process_utilization(0, 5000);
  ASSERT_TRUE(second);
  EXPECT_TRUE(second->empty());
}

TEST(Counters, TheNewerCallServesWhereTheOlderIsRefused) {
  old_utilization = abi::kNotSupported;
  const auto told = bound()->process_utilization(0, 0);
  ASSERT_TRUE(told) << told.error().text();
  EXPECT_THAT(*told, ElementsAre(ProcessUtilization{200, 7000, 0.4, 0.1}));
  auto symbols = driver();
  symbols.erase("nvmlDeviceGetProcessesUtilizationInfo");
  EXPECT_FALSE(bound(symbols)->process_utilization(0, 0));
  old_utilization = abi::kSuccess;
}

TEST(Counters, SlicesAreThoseThatWereMade) {
  const auto slices = bound()->mig_instances(0);
  ASSERT_TRUE(slices);
  ASSERT_EQ(slices->size(), 2U);
  EXPECT_EQ(slices->front().gpu_instance, 11U);
  EXPECT_EQ(slices->back().gpu_instance, 13U);
  EXPECT_EQ(slices->front().memory, (Memory{Bytes(100), Bytes(70), Bytes(30)}));
  EXPECT_EQ(slices->front().slices, 3U);
  EXPECT_EQ(slices->front().multiprocessors, 16U);
  EXPECT_EQ(slices->back().slices, std::nullopt);
  EXPECT_EQ(slices->front().number, 1U) << "as nvidia-smi counts: others have gone";
  EXPECT_EQ(slices->back().compute_instance, 2U);
  EXPECT_EQ(mig_profile(slices->front().name), "1g.18gb");
  EXPECT_EQ(mig_profile("NVIDIA H200"), "");
  EXPECT_TRUE(bound()->is_mig(0));
  auto symbols = driver();
  symbols.erase("nvmlDeviceGetMigMode");
  EXPECT_EQ(bound(symbols)->mig_instances(0), std::vector<MigInstance>{}) << "no MIG, no slices";
  EXPECT_FALSE(bound(symbols)->is_mig(0));
}

TEST(Counters, AComputeModeThatIsNotToldKeepsNobodyOut) {
  EXPECT_FALSE(bound()->is_for_one_process(0));
  auto symbols = driver();
  symbols["nvmlDeviceGetComputeMode"] = reinterpret_cast<void*>(&exclusive_process);
  EXPECT_TRUE(bound(symbols)->is_for_one_process(0));
}

TEST(Counters, ASliceTellsItsProcessesWhereTheGpuDoesNot) {
  const auto library = bound();
  EXPECT_FALSE(library->processes(0));
  EXPECT_EQ(library->mig_processes(0, 3), (std::vector<Process>{{103, Bytes(50), 13U, 0U}}));
  EXPECT_FALSE(library->mig_processes(0, 2)) << "not made";
}

TEST(Counters, ActivityIsCountedFromOneMomentToTheNext) {
  {
    const auto library = bound();
    auto window = library->watch_activity(0);
    ASSERT_TRUE(window) << window.error().text();
    for (int i = 0; i < 3; ++i) {
      const auto activity = (*window)->advance(false);
      ASSERT_TRUE(activity);
      EXPECT_EQ(activity->at(kSmActivity), 0.01) << "one moment after the other, as a share of one";
      for (std::size_t m = 0; m < kActivityMetrics.size(); ++m) {
        if (kActivityMetrics[m].name == "pcie_sent") {
          EXPECT_EQ(activity->at(m), 3.0 * 1024 * 1024);
        }
        if (kActivityMetrics[m].name == "tensor_activity") {
          EXPECT_EQ(activity->at(m), std::nullopt);
        }
        if (kActivityMetrics[m].name == "nvlink_sent") {
          EXPECT_EQ(activity->at(m), std::nullopt);
        }
      }
    }
    const auto costly = (*window)->advance();
    ASSERT_TRUE(costly);
    EXPECT_EQ(costly->at(kSmActivity), 0.01);
    for (std::size_t m = 0; m < kActivityMetrics.size(); ++m)
      if (kActivityMetrics[m].name == "graphics_activity") {
        EXPECT_EQ(costly->at(m), 0.05) << "over all the time since it was last asked";
      }
    EXPECT_TRUE(library->watch_activity(0, 9));
    EXPECT_FALSE(library->watch_activity(0, 8));
  }
  EXPECT_EQ(samples_alive, 0) << "every buffer is given back";
}

TEST(Counters, AGpuWithoutActivityCountersSaysSo) {
  auto symbols = driver();
  symbols["nvmlGpmQueryDeviceSupport"] = reinterpret_cast<void*>(&gpm_unsupported);
  EXPECT_FALSE(bound(symbols)->watch_activity(0));
  symbols.erase("nvmlGpmQueryDeviceSupport");
  const auto window = bound(symbols)->watch_activity(0);
  ASSERT_FALSE(window);
  EXPECT_THAT(window.error().text(), HasSubstr("cannot tell"));
}

}  // namespace
}  // namespace plimsoll::nvml
