#include <cublasLt.h>

#include "cuda/runtime.cuh"
#include "cuda/studies.hpp"
#include "cuda/study_sizes.hpp"
#include "cuda/tasks.hpp"

namespace plimsoll::cuda {
namespace {

std::optional<double> hertz(cudaDeviceAttr attribute, int device) {
  int kilohertz = 0;
  if (cudaDeviceGetAttribute(&kilohertz, attribute, device) != cudaSuccess) cudaGetLastError();
  return kilohertz > 0 ? std::optional(1e3 * kilohertz) : std::nullopt;
}

/// Opens a context on the device, which is current from then on.
Device open_device(int index) {
  check(cudaSetDevice(index), "cudaSetDevice");
  check(cudaFree(nullptr), "opening a context");
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, index), "cudaGetDeviceProperties");
  int driver = 0, runtime = 0;
  check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  const FreeMemory memory = device_memory();
  unsigned char uuid[16];
  for (int i = 0; i < 16; ++i) uuid[i] = static_cast<unsigned char>(properties.uuid.bytes[i]);
  const auto library = static_cast<std::int64_t>(cublasLtGetVersion());
  return {.name = properties.name,
          .uuid = uuid_text(uuid),
          .memory = memory.total,
          .free = memory.free,
          .multiprocessors = properties.multiProcessorCount,
          .l2 = properties.l2CacheSize,
          .capability = std::to_string(properties.major) + "." + std::to_string(properties.minor),
          .driver = version_text(driver, 1000, 10),
          .runtime = version_text(runtime, 1000, 10),
          .library = "cuBLASLt " + version_text(library, 10000, 100),
          .sm_clock = hertz(cudaDevAttrClockRate, index),
          .memory_clock = hertz(cudaDevAttrMemoryClockRate, index)};
}

Outcome fail(const Emit& emit, Outcome outcome, const std::string& message, const std::string& hint) {
  const char* kind = outcome == Outcome::bad_input       ? "bad-input"
                     : outcome == Outcome::machine_lacks ? "machine-lacks"
                                                         : "internal";
  emit(Failure{message, hint, kind});
  return outcome;
}

/// Whether the machine cannot do it, rather than this program.
bool is_lack(cudaError_t code) {
  switch (code) {
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorInitializationError:
    case cudaErrorDevicesUnavailable:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorSystemNotReady:
    case cudaErrorCompatNotSupportedOnDevice:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorStubLibrary:
    case cudaErrorMemoryAllocation: return true;
    default: return false;
  }
}

void run_task(const Job& job, const Emit& emit) {
  switch (job.task) {
    case Task::vecadd: return study_vector_add(job, emit);
    case Task::matmul: return study_matrix_product(job, emit);
    case Task::ceilings: return study_ceilings(job, emit);
    case Task::load: return carry_load(job, emit);
    case Task::share: return share_device(job, emit);
  }
}

}  // namespace

Outcome run(const Job& job, const Emit& emit) {
  try {
    int driver = 0, devices = 0;
    if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0)
      return fail(emit, Outcome::machine_lacks, "there is no NVIDIA driver", "nvidia-smi tells more");
    check(cudaGetDeviceCount(&devices), "looking for GPUs");
    if (job.device >= devices)
      return fail(emit, Outcome::machine_lacks, "there is no CUDA device " + std::to_string(job.device),
                  "there are " + std::to_string(devices) + "; see nvidia-smi and CUDA_VISIBLE_DEVICES");
    emit(open_device(job.device));
    run_task(job, emit);
    emit(Done{});
    return Outcome::done;
  } catch (const RuntimeError& error) {
    return fail(emit, is_lack(error.code()) ? Outcome::machine_lacks : Outcome::internal, error.what(),
                "nvidia-smi tells more");
  } catch (const std::exception& error) {
    return fail(emit, Outcome::internal, error.what(), "");
  }
}

}  // namespace plimsoll::cuda
