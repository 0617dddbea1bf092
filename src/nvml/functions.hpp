#pragma once
#include "nvml/abi.hpp"
#include "nvml/library.hpp"

namespace plimsoll::nvml {

/// The functions found; null where the driver is too old to have one.
struct Functions {
  abi::Init* init = nullptr;
  abi::Shutdown* shutdown = nullptr;
  abi::ErrorString* error_string = nullptr;
  abi::SystemText* driver_version = nullptr;
  abi::DeviceCount* device_count = nullptr;
  abi::DeviceByIndex* device_by_index = nullptr;
  abi::DeviceText* name = nullptr;
  abi::DeviceText* uuid = nullptr;
  abi::DeviceMemory* memory = nullptr;
  abi::DeviceMemoryV2* memory_v2 = nullptr;
  abi::DeviceCapability* capability = nullptr;
  abi::DeviceNumber* power_limit = nullptr;
  abi::DeviceProcesses* processes = nullptr;
  abi::DeviceProcesses* mps_processes = nullptr;
  abi::DeviceNumber* power = nullptr;
  abi::DeviceFields* fields = nullptr;
  abi::DeviceLongNumber* energy = nullptr;
  abi::DeviceUtilization* utilization = nullptr;
  abi::DeviceKindNumber* clock = nullptr;
  abi::DeviceKindNumber* temperature = nullptr;
  abi::DeviceLongNumber* throttle = nullptr;
  abi::DeviceProcessUtilization* process_utilization = nullptr;
  abi::DeviceProcessesUtilization* processes_utilization = nullptr;
  abi::DeviceNumber* compute_mode = nullptr;
  abi::DeviceMigMode* mig_mode = nullptr;
  abi::DeviceNumber* mig_count = nullptr;
  abi::DeviceMigByIndex* mig_by_index = nullptr;
  abi::DeviceNumber* gpu_instance = nullptr;
  abi::DeviceNumber* compute_instance = nullptr;
  abi::DeviceAttributes* attributes = nullptr;
  abi::GpmQuerySupport* gpm_support = nullptr;
  abi::GpmSampleAllocate* gpm_allocate = nullptr;
  abi::GpmSampleFree* gpm_free = nullptr;
  abi::GpmSampleTake* gpm_take = nullptr;
  abi::GpmMigSampleTake* gpm_take_mig = nullptr;
  abi::GpmMetricsOf* gpm_metrics = nullptr;
};

[[nodiscard]] Functions find_functions(const Lookup& lookup);

/// What the library answered, in words: "NVML: does not tell its power: Not Supported (code 3)".
[[nodiscard]] Error refused(const Functions& functions, std::string_view what, abi::Return code);
[[nodiscard]] Error cannot_tell(std::string_view what);  ///< the function is not there

/// Opens a window of GPM counters on a device that supports them.
[[nodiscard]] Result<std::unique_ptr<ActivityWindow>> open_activity_window(
    const Functions& functions, abi::Device device, std::optional<unsigned> gpu_instance);

}  // namespace plimsoll::nvml
