#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"
#include "nvml/activity.hpp"

namespace plimsoll::nvml {

/// What a GPU's memory holds. `used` counts what the driver keeps for itself; `reserved` is that part,
/// where the driver is new enough to say, and total - reserved is what programs can have at most.
struct Memory {
  Bytes total;
  Bytes free;
  Bytes used;
  std::optional<Bytes> reserved = {};
  friend bool operator==(const Memory&, const Memory&) = default;
};

struct ComputeCapability {
  int major = 0;
  int minor = 0;
  friend auto operator<=>(const ComputeCapability&, const ComputeCapability&) = default;
};

/// A process with a compute context. Containers hide both: the pid is the host's, and `used` is absent
/// where the driver does not tell.
struct Process {
  std::uint32_t pid = 0;
  std::optional<Bytes> used = {};
  std::optional<unsigned> gpu_instance = {};  ///< in MIG mode: the slice it runs on
  std::optional<unsigned> compute_instance = {};
  friend bool operator==(const Process&, const Process&) = default;
};

struct Power {
  Watts value;
  bool instant = false;  ///< of this moment; else the driver's average over the last second or so
  friend bool operator==(const Power&, const Power&) = default;
};

/// Shares of one, over the driver's own last interval (1/6 s to 1 s).
struct Utilization {
  double gpu = 0;     ///< of the time in which some kernel ran, however small: not how much of the GPU worked
  double memory = 0;  ///< of the time in which its memory was read or written
  friend bool operator==(const Utilization&, const Utilization&) = default;
};

/// One of the driver's samples of one process, shares of one.
struct ProcessUtilization {
  std::uint32_t pid = 0;
  std::uint64_t time = 0;  ///< microseconds since 1970, by the driver's clock
  double sm = 0;
  double memory = 0;
  friend bool operator==(const ProcessUtilization&, const ProcessUtilization&) = default;
};

/// A slice of a GPU in MIG mode. Compute instances of the same GPU instance share its memory and counters.
struct MigInstance {
  unsigned gpu_instance = 0;
  unsigned compute_instance = 0;
  std::string uuid = {};
  std::optional<Memory> memory = {};    ///< of its GPU instance
  std::optional<unsigned> slices = {};  ///< of the GPU's seven (or four) that its GPU instance has
  unsigned number = 0;                  ///< among its GPU's, as nvidia-smi lists them ("MIG Dev")
  std::string name = {};                ///< "NVIDIA H200 MIG 1g.18gb"
  std::optional<unsigned> multiprocessors = {};
  friend bool operator==(const MigInstance&, const MigInstance&) = default;
};

/// "1g.18gb", of "NVIDIA H200 MIG 1g.18gb"; empty where the name tells none.
[[nodiscard]] std::string mig_profile(std::string_view name);

/// The door to NVIDIA's management library: everything Plimsoll asks of it, and nothing else. Devices are
/// numbered from 0 in the order of their PCI addresses (CUDA's default order may differ). Every question
/// may fail alone, with Kind::machine_lacks; a GPU in MIG mode does not answer all of them. Threads may ask
/// at the same time.
class Library {
 public:
  virtual ~Library() = default;
  [[nodiscard]] virtual Result<std::string> driver_version() const = 0;
  [[nodiscard]] virtual Result<unsigned> device_count() const = 0;
  [[nodiscard]] virtual Result<std::string> name(unsigned device) const = 0;
  [[nodiscard]] virtual Result<std::string> uuid(unsigned device) const = 0;
  [[nodiscard]] virtual Result<Memory> memory(unsigned device) const = 0;
  [[nodiscard]] virtual Result<ComputeCapability> compute_capability(unsigned device) const = 0;
  [[nodiscard]] virtual Result<Watts> enforced_power_limit(unsigned device) const = 0;
  [[nodiscard]] virtual Result<std::vector<Process>> processes(unsigned device) const = 0;

  [[nodiscard]] virtual Result<Power> power(unsigned device) const = 0;
  [[nodiscard]] virtual Result<Joules> energy(unsigned device) const = 0;  ///< since the driver was loaded
  [[nodiscard]] virtual Result<Utilization> utilization(unsigned device) const = 0;
  [[nodiscard]] virtual Result<double> sm_clock(unsigned device) const = 0;         ///< Hz
  [[nodiscard]] virtual Result<double> memory_clock(unsigned device) const = 0;     ///< Hz
  [[nodiscard]] virtual Result<double> temperature(unsigned device) const = 0;      ///< °C
  [[nodiscard]] virtual Result<std::uint64_t> throttle(unsigned device) const = 0;  ///< bits: see Throttle
  /// The driver's samples after `since` (its time, 0: all it still has), in no order; none is no error.
  [[nodiscard]] virtual Result<std::vector<ProcessUtilization>> process_utilization(
      unsigned device, std::uint64_t since) const = 0;
  /// None where MIG is off.
  [[nodiscard]] virtual Result<std::vector<MigInstance>> mig_instances(unsigned device) const = 0;
  /// Whether it is cut into slices, so that nothing runs on the whole of it; false where it knows no MIG.
  [[nodiscard]] virtual bool is_mig(unsigned device) const = 0;
  /// Whether only one process may compute on it (MPS's server, say); false where it does not tell.
  [[nodiscard]] virtual bool is_for_one_process(unsigned device) const = 0;
  /// Of one slice, by its number. The whole GPU's list tells an ordinary user nothing of its slices.
  [[nodiscard]] virtual Result<std::vector<Process>> mig_processes(unsigned device,
                                                                   unsigned number) const = 0;
  /// Activity counters of a GPU, or of one GPU instance of it; Hopper and later. Begins now.
  [[nodiscard]] virtual Result<std::unique_ptr<ActivityWindow>> watch_activity(
      unsigned device, std::optional<unsigned> gpu_instance = {}) const = 0;

 protected:
  Library() = default;
  Library(const Library&) = default;
  Library& operator=(const Library&) = default;
};

/// Opens and initialises the library of the installed driver: libnvidia-ml.so.1, or what the environment
/// variable PLIMSOLL_NVML_LIBRARY names. Without one: Kind::machine_lacks. Shut down when destroyed.
[[nodiscard]] Result<std::unique_ptr<Library>> open();
[[nodiscard]] Result<std::unique_ptr<Library>> open(const std::string& path);

/// The address of a function of the library, or null; what dlsym is, and what tests stand in for.
using Lookup = std::function<void*(const char* symbol)>;
[[nodiscard]] Result<std::unique_ptr<Library>> bind(Lookup lookup);

}  // namespace plimsoll::nvml
