#include "nvml/library.hpp"

#include <cstdlib>
#include <cstring>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nvml/abi.hpp"
#include "nvml/fake.hpp"

namespace plimsoll::nvml {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A driver's library in miniature: two GPUs behind NVML's C interface, so that the calls and layouts of
// library.cpp run as they do against a real one. The second GPU refuses what a MIG parent refuses.
int initialised = 0;
abi::Device handle_of(unsigned index) {
  return reinterpret_cast<abi::Device>(static_cast<std::uintptr_t>(index) + 1);
}
unsigned index_of(abi::Device device) {
  return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(device) - 1);
}

abi::Return init() {
  ++initialised;
  return abi::kSuccess;
}
abi::Return init_without_driver() {
  return abi::kDriverNotLoaded;
}
abi::Return shut_down() {
  --initialised;
  return abi::kSuccess;
}
const char* error_string(abi::Return code) {
  return code == abi::kNotSupported ? "Not Supported" : "Unknown Error";
}
abi::Return copy_text(char* target, unsigned length, const char* source) {
  if (std::strlen(source) >= length) return abi::kInsufficientSize;
  std::strcpy(target, source);
  return abi::kSuccess;
}
abi::Return driver_version(char* text, unsigned length) {
  return copy_text(text, length, "580.65.06");
}
abi::Return device_count(unsigned* count) {
  *count = 2;
  return abi::kSuccess;
}
abi::Return device_by_index(unsigned index, abi::Device* device) {
  *device = handle_of(index);
  return index < 2 ? abi::kSuccess : 2;
}
abi::Return name(abi::Device, char* text, unsigned length) {
  return copy_text(text, length, "NVIDIA H200");
}
abi::Return uuid(abi::Device, char* text, unsigned length) {
  return copy_text(text, length, "GPU-1234");
}
abi::Return memory(abi::Device, abi::Memory* info) {
  *info = {.total = 1000, .free = 700, .used = 300};
  return abi::kSuccess;
}
abi::Return memory_v2(abi::Device, abi::MemoryV2* info) {
  if (info->version != 0x02000028) return 25;
  *info = {.version = info->version, .total = 1000, .reserved = 60, .free = 700, .used = 240};
  return abi::kSuccess;
}
abi::Return capability(abi::Device, int* major, int* minor) {
  *major = 9;
  *minor = 0;
  return abi::kSuccess;
}
abi::Return power_limit(abi::Device device, unsigned* milliwatts) {
  if (index_of(device) == 1) return abi::kNotSupported;
  *milliwatts = 700'000;
  return abi::kSuccess;
}
abi::Return many_processes(abi::Device, unsigned* count, abi::ProcessInfo* infos) {
  constexpr unsigned there = 100;
  const unsigned room = *count;
  *count = there;
  if (room < there) return abi::kInsufficientSize;
  for (unsigned i = 0; i < there; ++i)
    infos[i] = {i + 1, i == 0 ? abi::kValueNotAvailable : i * 10ULL, abi::kNoInstance, abi::kNoInstance};
  return abi::kSuccess;
}
abi::Return mps_processes(abi::Device, unsigned* count, abi::ProcessInfo* infos) {
  *count = 2;
  infos[0] = {7, 60, abi::kNoInstance, abi::kNoInstance};
  infos[1] = {4242, 77, abi::kNoInstance, abi::kNoInstance};
  return abi::kSuccess;
}

std::map<std::string, void*> driver() {
  return {{"nvmlInit_v2", reinterpret_cast<void*>(&init)},
          {"nvmlShutdown", reinterpret_cast<void*>(&shut_down)},
          {"nvmlErrorString", reinterpret_cast<void*>(&error_string)},
          {"nvmlSystemGetDriverVersion", reinterpret_cast<void*>(&driver_version)},
          {"nvmlDeviceGetCount_v2", reinterpret_cast<void*>(&device_count)},
          {"nvmlDeviceGetHandleByIndex_v2", reinterpret_cast<void*>(&device_by_index)},
          {"nvmlDeviceGetName", reinterpret_cast<void*>(&name)},
          {"nvmlDeviceGetUUID", reinterpret_cast<void*>(&uuid)},
          {"nvmlDeviceGetMemoryInfo", reinterpret_cast<void*>(&memory)},
          {"nvmlDeviceGetMemoryInfo_v2", reinterpret_cast<void*>(&memory_v2)},
          {"nvmlDeviceGetCudaComputeCapability", reinterpret_cast<void*>(&capability)},
          {"nvmlDeviceGetEnforcedPowerLimit", reinterpret_cast<void*>(&power_limit)},
          {"nvmlDeviceGetComputeRunningProcesses_v3", reinterpret_cast<void*>(&many_processes)},
          {"nvmlDeviceGetMPSComputeRunningProcesses_v3", reinterpret_cast<void*>(&mps_processes)}};
}

Result<std::unique_ptr<Library>> bind_to(std::map<std::string, void*> symbols) {
  return bind([symbols = std::move(symbols)](const char* symbol) -> void* {
    const auto found = symbols.find(symbol);
    return found == symbols.end() ? nullptr : found->second;
  });
}

TEST(Nvml, AnswersThroughTheBinaryInterface) {
  {
    auto library = bind_to(driver());
    ASSERT_TRUE(library) << library.error().text();
    EXPECT_EQ(initialised, 1);
    EXPECT_EQ((*library)->driver_version(), "580.65.06");
    EXPECT_EQ((*library)->device_count(), 2U);
    EXPECT_EQ((*library)->name(0), "NVIDIA H200");
    EXPECT_EQ((*library)->uuid(0), "GPU-1234");
    EXPECT_EQ((*library)->memory(0), (Memory{Bytes(1000), Bytes(700), Bytes(300), Bytes(60)}));
    EXPECT_EQ((*library)->compute_capability(0), (ComputeCapability{9, 0}));
    EXPECT_EQ((*library)->enforced_power_limit(0), Watts(700));
  }
  EXPECT_EQ(initialised, 0) << "shut down with the object";
}

TEST(Nvml, ListsProcessesOfMpsOnceAndGrowsTheList) {
  const auto library = bind_to(driver());
  ASSERT_TRUE(library);
  const auto processes = (*library)->processes(0);
  ASSERT_TRUE(processes) << processes.error().text();
  ASSERT_EQ(processes->size(), 101U);
  EXPECT_EQ(processes->front(), (Process{1, std::nullopt})) << "a driver that does not know says ~0";
  EXPECT_EQ(processes->at(6), (Process{7, Bytes(60)}));
  EXPECT_EQ(processes->back(), (Process{4242, Bytes(77)}));
}

TEST(Nvml, OneRefusedQuestionIsOneError) {
  const auto library = bind_to(driver());
  ASSERT_TRUE(library);
  const auto power = (*library)->enforced_power_limit(1);
  ASSERT_FALSE(power);
  EXPECT_EQ(power.error().kind, Error::Kind::machine_lacks);
  EXPECT_THAT(power.error().text(), HasSubstr("GPU 1"));
  EXPECT_THAT(power.error().text(), HasSubstr("Not Supported"));
  EXPECT_FALSE((*library)->name(9));
}

TEST(Nvml, AnOldDriverLacksFunctionsAndStillServes) {
  auto symbols = driver();
  for (const char* newer : {"nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetComputeRunningProcesses_v3",
                            "nvmlErrorString", "nvmlDeviceGetMPSComputeRunningProcesses_v3"})
    symbols.erase(newer);
  const auto library = bind_to(symbols);
  ASSERT_TRUE(library);
  EXPECT_EQ((*library)->memory(0), (Memory{Bytes(1000), Bytes(700), Bytes(300)}));
  const auto processes = (*library)->processes(0);
  ASSERT_FALSE(processes);
  EXPECT_EQ(processes.error().kind, Error::Kind::machine_lacks);
  EXPECT_FALSE((*library)->enforced_power_limit(1));
}

TEST(Nvml, NoDriverIsLackingNotBroken) {
  auto symbols = driver();
  symbols["nvmlInit_v2"] = reinterpret_cast<void*>(&init_without_driver);
  const auto without_driver = bind_to(symbols);
  ASSERT_FALSE(without_driver);
  EXPECT_EQ(without_driver.error().kind, Error::Kind::machine_lacks);
  EXPECT_THAT(without_driver.error().hint, HasSubstr("kernel driver"));
  EXPECT_EQ(initialised, 0);

  const auto another_library = bind_to({});
  ASSERT_FALSE(another_library);
  EXPECT_EQ(another_library.error().kind, Error::Kind::machine_lacks);
}

TEST(Nvml, TheEnvironmentNamesTheLibrary) {
  ASSERT_EQ(setenv("PLIMSOLL_NVML_LIBRARY", "/nonexistent/libnvidia-ml.so.1", 1), 0);
  const auto absent = open();
  ASSERT_EQ(setenv("PLIMSOLL_NVML_LIBRARY", "libm.so.6", 1), 0);
  const auto another = open();
  unsetenv("PLIMSOLL_NVML_LIBRARY");
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().kind, Error::Kind::machine_lacks);
  EXPECT_THAT(absent.error().text(), HasSubstr("/nonexistent/libnvidia-ml.so.1"));
  ASSERT_FALSE(another);
  EXPECT_EQ(another.error().kind, Error::Kind::machine_lacks);
  EXPECT_THAT(another.error().text(), HasSubstr("nvmlInit_v2"));
}

TEST(Nvml, FakeAnswersFromValues) {
  const FakeLibrary fake(
      {{.name = "Tesla T4", .memory = Memory{Bytes(16), Bytes(9), Bytes(7)}, .power_limit = Watts(70)}});
  EXPECT_EQ(fake.device_count(), 1U);
  EXPECT_EQ(fake.name(0), "Tesla T4");
  EXPECT_EQ(fake.memory(0)->free, Bytes(9));
  EXPECT_FALSE(fake.processes(0));
  EXPECT_FALSE(fake.name(1));
}

}  // namespace
}  // namespace plimsoll::nvml
