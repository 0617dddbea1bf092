#pragma once
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>
#include <sys/types.h>

#include "base/units.hpp"
#include "nvml/library.hpp"
#include "run/run_processes.hpp"

namespace plimsoll::running {

/// A process that holds memory of a GPU.
struct Occupant {
  pid_t pid = 0;                   ///< as the driver says it; whose numbers these are, see Host
  std::optional<Bytes> used = {};  ///< nothing where the driver does not tell
  std::string run = {};            ///< to which it belongs; empty: to none that is known
  friend bool operator==(const Occupant&, const Occupant&) = default;
};

/// A part of a GPU in MIG mode, on which programs run as on a GPU of its own. Slices of one GPU instance
/// share its memory.
struct MigSlice {
  unsigned parent = 0;  ///< its GPU's number
  unsigned number = 0;  ///< among its GPU's
  unsigned gpu_instance = 0;
  unsigned compute_instance = 0;
  std::string uuid = {};
  std::string name = {};                ///< "NVIDIA H200 MIG 1g.18gb"
  std::string profile = {};             ///< "1g.18gb"
  std::optional<unsigned> slices = {};  ///< its size, of the GPU's seven (or four)
  std::optional<nvml::Memory> memory = {};
  std::vector<Occupant> occupants = {};
  friend bool operator==(const MigSlice&, const MigSlice&) = default;
};

struct Gpu {
  unsigned number = 0;  ///< NVML's
  std::string uuid = {};
  std::string name = {};
  std::optional<nvml::Memory> memory = {};
  std::vector<Occupant> occupants = {};
  bool mig = false;  ///< only its slices run anything
  std::vector<MigSlice> slices = {};
  friend bool operator==(const Gpu&, const Gpu&) = default;
};

/// A machine, with what there is to run on and who uses it.
struct Host {
  std::string name = {};
  std::string machine_id = {};  ///< as ProcessSpace has it; empty where unknown
  std::string driver = {};
  /// Whether the driver's numbers of processes are numbers here. In a container they may be the machine's
  /// own: then nobody can tell here which run a process is of, and how much a run uses.
  bool pids_are_known = true;
  std::vector<Gpu> gpus = {};
  friend bool operator==(const Host&, const Host&) = default;
};

struct Inventory {
  std::vector<Host> hosts = {};
  friend bool operator==(const Inventory&, const Inventory&) = default;
};

/// This machine now. `known`: runs whose first process is known, beside those whose processes carry a mark.
/// Asks the driver, which may take a while. Without NVML there is no GPU.
[[nodiscard]] Host look_at_host(const nvml::Library* nvml, std::span<const KnownRun> known = {},
                                const std::filesystem::path& root = "/");

/// Bytes, and absent what is not known.
[[nodiscard]] nlohmann::ordered_json to_json(const Inventory& inventory);

}  // namespace plimsoll::running
