#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"
#include "nvml/library.hpp"

namespace plimsoll::running {

/// Where a MIG slice stands.
struct SlicePlace {
  unsigned parent = 0;  ///< its GPU's number
  unsigned number = 0;  ///< among its GPU's
  unsigned gpu_instance = 0;
  unsigned compute_instance = 0;
  friend bool operator==(const SlicePlace&, const SlicePlace&) = default;
};

/// A GPU, or a slice of one, on which a job runs.
struct ChosenDevice {
  std::string uuid;                      ///< as CUDA_VISIBLE_DEVICES takes it
  std::optional<unsigned> number = {};   ///< NVML's; nothing for a MIG slice
  std::optional<SlicePlace> slice = {};  ///< of a slice that NVML tells of
  std::string name = {};
  std::optional<Bytes> total = {};
  friend bool operator==(const ChosenDevice&, const ChosenDevice&) = default;
};

/// The devices named, each a number, a UUID or the beginning of one ("GPU-4f", "MIG-…"), or a slice by its
/// GPU's number and its own ("0:1").
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

}  // namespace plimsoll::running
