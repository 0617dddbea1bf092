#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "hardware/catalogue.hpp"
#include "hardware/device.hpp"
#include "nvml/library.hpp"

namespace plimsoll::hardware {

/// The machine at hand.
struct ThisMachine {
  Device cpu;
  std::vector<Device> gpus = {};          ///< in NVML's order
  std::vector<std::string> remarks = {};  ///< what could not be learned, in words

  /// What `--device this` means: the first GPU, or the CPU where there is none.
  [[nodiscard]] const Device& main_device() const { return gpus.empty() ? cpu : gpus.front(); }
};

/// Describes a machine by its /proc and /sys under `root` and by NVML (null: no GPUs). Never fails: what is
/// not known is absent. GPUs that the catalogue knows have its figures; memory, power limit and compute
/// capability are the driver's. A MIG slice has the driver's figures alone.
[[nodiscard]] ThisMachine describe_machine(const Catalogue& catalogue, const nvml::Library* library,
                                           const std::filesystem::path& root = "/");

/// The same with the built-in catalogue and the driver installed here.
[[nodiscard]] Result<ThisMachine> this_machine();

/// Whether a device's name on the command line means one of this machine: `this`, `this-cpu`, or `cpu`, the
/// id that `plimsoll devices` lists it with.
[[nodiscard]] bool names_this_machine(std::string_view text);

/// What stands after --device: one of this machine, a file (it ends in .json or has a slash), or a name.
[[nodiscard]] Result<Device> device_named(std::string_view text);

}  // namespace plimsoll::hardware
