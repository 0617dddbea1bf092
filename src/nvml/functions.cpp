#include "nvml/functions.hpp"

namespace plimsoll::nvml {
namespace {

template <class Function>
void resolve(const Lookup& lookup, Function*& target, std::initializer_list<const char*> symbols) {
  for (const char* symbol : symbols)
    if (target == nullptr) target = reinterpret_cast<Function*>(lookup(symbol));
}

void find_telemetry(const Lookup& lookup, Functions& f) {
  resolve(lookup, f.power, {"nvmlDeviceGetPowerUsage"});
  resolve(lookup, f.fields, {"nvmlDeviceGetFieldValues"});
  resolve(lookup, f.energy, {"nvmlDeviceGetTotalEnergyConsumption"});
  resolve(lookup, f.utilization, {"nvmlDeviceGetUtilizationRates"});
  resolve(lookup, f.clock, {"nvmlDeviceGetClockInfo"});
  resolve(lookup, f.temperature, {"nvmlDeviceGetTemperature"});
  resolve(lookup, f.throttle,
          {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"});
  resolve(lookup, f.process_utilization, {"nvmlDeviceGetProcessUtilization"});
  resolve(lookup, f.processes_utilization, {"nvmlDeviceGetProcessesUtilizationInfo"});
  resolve(lookup, f.compute_mode, {"nvmlDeviceGetComputeMode"});
  resolve(lookup, f.mig_mode, {"nvmlDeviceGetMigMode"});
  resolve(lookup, f.mig_count, {"nvmlDeviceGetMaxMigDeviceCount"});
  resolve(lookup, f.mig_by_index, {"nvmlDeviceGetMigDeviceHandleByIndex"});
  resolve(lookup, f.gpu_instance, {"nvmlDeviceGetGpuInstanceId"});
  resolve(lookup, f.compute_instance, {"nvmlDeviceGetComputeInstanceId"});
  resolve(lookup, f.attributes, {"nvmlDeviceGetAttributes_v2"});
  resolve(lookup, f.gpm_support, {"nvmlGpmQueryDeviceSupport"});
  resolve(lookup, f.gpm_allocate, {"nvmlGpmSampleAlloc"});
  resolve(lookup, f.gpm_free, {"nvmlGpmSampleFree"});
  resolve(lookup, f.gpm_take, {"nvmlGpmSampleGet"});
  resolve(lookup, f.gpm_take_mig, {"nvmlGpmMigSampleGet"});
  resolve(lookup, f.gpm_metrics, {"nvmlGpmMetricsGet"});
}

}  // namespace

Functions find_functions(const Lookup& lookup) {
  Functions f;
  resolve(lookup, f.init, {"nvmlInit_v2", "nvmlInit"});
  resolve(lookup, f.shutdown, {"nvmlShutdown"});
  resolve(lookup, f.error_string, {"nvmlErrorString"});
  resolve(lookup, f.driver_version, {"nvmlSystemGetDriverVersion"});
  resolve(lookup, f.device_count, {"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"});
  resolve(lookup, f.device_by_index, {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"});
  resolve(lookup, f.name, {"nvmlDeviceGetName"});
  resolve(lookup, f.uuid, {"nvmlDeviceGetUUID"});
  resolve(lookup, f.memory, {"nvmlDeviceGetMemoryInfo"});
  resolve(lookup, f.memory_v2, {"nvmlDeviceGetMemoryInfo_v2"});
  resolve(lookup, f.capability, {"nvmlDeviceGetCudaComputeCapability"});
  resolve(lookup, f.power_limit, {"nvmlDeviceGetEnforcedPowerLimit"});
  resolve(lookup, f.processes,
          {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"});
  resolve(lookup, f.mps_processes,
          {"nvmlDeviceGetMPSComputeRunningProcesses_v3", "nvmlDeviceGetMPSComputeRunningProcesses_v2"});
  find_telemetry(lookup, f);
  return f;
}

Error refused(const Functions& functions, std::string_view what, abi::Return code) {
  const char* words = functions.error_string == nullptr ? nullptr : functions.error_string(code);
  return Error{fmt::format("does not tell {}: {} (code {})", what, words == nullptr ? "error" : words, code),
               "NVML",
               {},
               Error::Kind::machine_lacks};
}

Error cannot_tell(std::string_view what) {
  return Error{
      fmt::format("this driver's library cannot tell {}", what), "NVML", {}, Error::Kind::machine_lacks};
}

}  // namespace plimsoll::nvml
