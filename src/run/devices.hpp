#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"
#include "nvml/library.hpp"

namespace plimsoll::running {

/// A GPU, or a slice of one, on which a job runs.
struct ChosenDevice {
  std::string uuid;                     ///< as CUDA_VISIBLE_DEVICES takes it
  std::optional<unsigned> number = {};  ///< NVML's; nothing for a MIG slice, whose GPU is not looked up
  std::string name = {};
  std::optional<Bytes> total = {};
  friend bool operator==(const ChosenDevice&, const ChosenDevice&) = default;
};

/// The devices named, each a number, a UUID or the beginning of one ("GPU-4f", "MIG-…").
[[nodiscard]] Result<std::vector<ChosenDevice>> choose_devices(const nvml::Library* nvml,
                                                               const std::vector<std::string>& names);

/// Where nobody chose: what CUDA would take, CUDA_VISIBLE_DEVICES or all. Empty where there is no GPU.
[[nodiscard]] std::vector<ChosenDevice> visible_devices(const nvml::Library* nvml,
                                                        const std::optional<std::string>& visible);

/// As CUDA_VISIBLE_DEVICES takes them.
[[nodiscard]] std::string device_list(const std::vector<ChosenDevice>& devices);

/// What a job needs of a GPU's memory, and who says so.
struct Need {
  Bytes bytes;
  std::string source;
};

/// A GPU's memory as a job finds it that is to start there.
struct Room {
  Bytes free;
  Bytes total;
  Bytes promised = {};  ///< of what is free, to jobs that have started and not yet taken their need
};

enum class Admission {
  start,
  wait,   ///< fits once others have ended
  never,  ///< not even on the empty GPU
};
/// What is not known cannot be a reason to wait: such a job starts.
[[nodiscard]] Admission admit(const std::optional<Need>& need, const std::optional<Room>& room);

}  // namespace plimsoll::running
