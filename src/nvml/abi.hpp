#pragma once

/// The part of NVML's binary interface that library.cpp uses, declared by hand so that neither NVIDIA's
/// header nor its library is needed to build. Numbers and layouts: NVML API reference, R535 and later;
/// they are stable across drivers, new layouts get new symbol names.
namespace plimsoll::nvml::abi {

using Return = int;
inline constexpr Return kSuccess = 0;
inline constexpr Return kNotSupported = 3;
inline constexpr Return kNoPermission = 4;
inline constexpr Return kNotFound = 6;
inline constexpr Return kInsufficientSize = 7;
inline constexpr Return kDriverNotLoaded = 9;

inline constexpr unsigned kNameLength = 96;           // NVML_DEVICE_NAME_V2_BUFFER_SIZE
inline constexpr unsigned kUuidLength = 96;           // NVML_DEVICE_UUID_V2_BUFFER_SIZE
inline constexpr unsigned kDriverVersionLength = 80;  // NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE
inline constexpr unsigned long long kValueNotAvailable = ~0ULL;
inline constexpr unsigned kNoInstance = ~0U;  // of a process outside MIG mode

using Device = struct DeviceOpaque*;

struct Memory {
  unsigned long long total, free, used;
};

struct MemoryV2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
inline constexpr unsigned kMemoryV2 = sizeof(MemoryV2) | (2U << 24U);
static_assert(sizeof(MemoryV2) == 40);

/// Of both ..._v2 and ..._v3; the oldest symbol, without a suffix, has a shorter one and is not used.
struct ProcessInfo {
  unsigned pid;
  unsigned long long used_memory;
  unsigned gpu_instance, compute_instance;
};
static_assert(sizeof(ProcessInfo) == 24);

struct Utilization {
  unsigned gpu, memory;  // percent
};

union Value {
  double real;
  unsigned whole;
  unsigned long long long_whole;
};
struct FieldValue {
  unsigned field, scope;
  long long timestamp, latency;
  int type;
  Return status;
  Value value;
};
static_assert(sizeof(FieldValue) == 40);
inline constexpr unsigned kFieldPowerInstant = 186;  // NVML_FI_DEV_POWER_INSTANT, milliwatts
inline constexpr int kUnsignedInt = 1;               // NVML_VALUE_TYPE_UNSIGNED_INT

inline constexpr int kClockSm = 1;         // NVML_CLOCK_SM
inline constexpr int kClockMemory = 2;     // NVML_CLOCK_MEM
inline constexpr int kTemperatureGpu = 0;  // NVML_TEMPERATURE_GPU

/// Of nvmlDeviceGetProcessUtilization. The time stamp is the CPU's, microseconds since 1970.
struct ProcessUtilization {
  unsigned pid;
  unsigned long long time;
  unsigned sm, memory, encoder, decoder;  // percent
};
static_assert(sizeof(ProcessUtilization) == 32);

/// Of nvmlDeviceGetProcessesUtilizationInfo (R550), which also serves where the older one refuses.
struct ProcessUtilizationV1 {
  unsigned long long time;
  unsigned pid, sm, memory, encoder, decoder, jpeg, optical_flow;
};
static_assert(sizeof(ProcessUtilizationV1) == 40);
struct ProcessesUtilizationV1 {
  unsigned version, count;
  unsigned long long last_seen;
  ProcessUtilizationV1* samples;
};
inline constexpr unsigned kProcessesUtilizationV1 = sizeof(ProcessesUtilizationV1) | (1U << 24U);
static_assert(sizeof(ProcessesUtilizationV1) == 24);

/// Of nvmlDeviceGetAttributes_v2.
struct Attributes {
  unsigned multiprocessors, copy_engines, decoders, encoders, jpeg, optical_flow;
  unsigned gpu_slices, compute_slices;
  unsigned long long memory_mib;
};
static_assert(sizeof(Attributes) == 40);

using GpmSample = struct GpmSampleOpaque*;
struct GpmSupport {
  unsigned version, supported;
};
struct GpmMetric {
  unsigned id;
  Return status;
  double value;
  const char *short_name, *long_name, *unit;
};
static_assert(sizeof(GpmMetric) == 40);
/// The header's array has as many places as it knows metrics: 98, 210, 333 in one driver and the next, under
/// the same version number 1. `count` says how many are asked, so that a driver never looks beyond them; the
/// room for the longest is there all the same.
struct GpmMetrics {
  unsigned version, count;
  GpmSample from, to;
  GpmMetric metrics[512];
};
inline constexpr unsigned kGpmVersion = 1;

using Init = Return();
using Shutdown = Return();
using ErrorString = const char*(Return);
using SystemText = Return(char*, unsigned);
using DeviceCount = Return(unsigned*);
using DeviceByIndex = Return(unsigned, Device*);
using DeviceText = Return(Device, char*, unsigned);
using DeviceMemory = Return(Device, Memory*);
using DeviceMemoryV2 = Return(Device, MemoryV2*);
using DeviceCapability = Return(Device, int*, int*);
using DeviceNumber = Return(Device, unsigned*);
using DeviceProcesses = Return(Device, unsigned*, ProcessInfo*);
using DeviceLongNumber = Return(Device, unsigned long long*);
using DeviceKindNumber = Return(Device, int kind, unsigned*);
using DeviceUtilization = Return(Device, Utilization*);
using DeviceFields = Return(Device, int count, FieldValue*);
using DeviceProcessUtilization = Return(Device, ProcessUtilization*, unsigned*, unsigned long long last_seen);
using DeviceProcessesUtilization = Return(Device, ProcessesUtilizationV1*);
using DeviceMigMode = Return(Device, unsigned* current, unsigned* pending);
using DeviceMigByIndex = Return(Device, unsigned, Device*);
using DeviceAttributes = Return(Device, Attributes*);
using GpmQuerySupport = Return(Device, GpmSupport*);
using GpmSampleAllocate = Return(GpmSample*);
using GpmSampleFree = Return(GpmSample);
using GpmSampleTake = Return(Device, GpmSample);
using GpmMigSampleTake = Return(Device, unsigned gpu_instance, GpmSample);
using GpmMetricsOf = Return(GpmMetrics*);

}  // namespace plimsoll::nvml::abi
