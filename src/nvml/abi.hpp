#pragma once

/// The part of NVML's binary interface that library.cpp uses, declared by hand so that neither NVIDIA's
/// header nor its library is needed to build. Numbers and layouts: NVML API reference, R535 and later;
/// they are stable across drivers, new layouts get new symbol names.
namespace plimsoll::nvml::abi {

using Return = int;
inline constexpr Return kSuccess = 0;
inline constexpr Return kNotSupported = 3;
inline constexpr Return kNoPermission = 4;
inline constexpr Return kInsufficientSize = 7;
inline constexpr Return kDriverNotLoaded = 9;

inline constexpr unsigned kNameLength = 96;           // NVML_DEVICE_NAME_V2_BUFFER_SIZE
inline constexpr unsigned kUuidLength = 96;           // NVML_DEVICE_UUID_V2_BUFFER_SIZE
inline constexpr unsigned kDriverVersionLength = 80;  // NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE
inline constexpr unsigned long long kValueNotAvailable = ~0ULL;

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

}  // namespace plimsoll::nvml::abi
