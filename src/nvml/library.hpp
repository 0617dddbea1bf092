#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"

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
  friend bool operator==(const Process&, const Process&) = default;
};

/// The door to NVIDIA's management library: everything Plimsoll asks of it, and nothing else. Devices are
/// numbered from 0 in the order of their PCI addresses (CUDA's default order may differ). Every question
/// may fail alone, with Kind::machine_lacks; a GPU in MIG mode does not answer all of them.
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
