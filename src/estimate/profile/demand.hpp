#pragma once
#include <optional>

#include "base/units.hpp"
#include "hardware/calibration.hpp"
#include "hardware/device.hpp"

namespace plimsoll::estimate {

/// What a kernel asks of a GPU while it runs. Shares are means over its whole duration, its launch included,
/// as NVML's GPM tells them for a running program.
struct Demand {
  double launches = 1;  ///< of the device: a convolution may turn layouts before and after
  double blocks = 0;    ///< of the launch that takes longest
  double warps_per_block = 0;
  double blocks_per_sm = 0;    ///< that fit at once
  double waves = 0;            ///< blocks over those that fit the whole GPU at once
  double sm_share = 0;         ///< SMs that have a block, of all
  double occupancy = 0;        ///< resident warps over the most, over all SMs
  Seconds block_seconds = {};  ///< how long one block runs
  double dram_bytes = 0;       ///< read from and written to the memory behind the L2
  double dram_share = 0;       ///< of the memory's bandwidth
  double tensor_share = 0;     ///< of the peak of tensor units
  friend bool operator==(const Demand&, const Demand&) = default;
};

/// Pure. Follows from the kernels most alike that were counted on an H200 (docs/profile.md): their blocks,
/// how many of them fit, how evenly they run. Other GPUs have their own SMs, caches and bandwidth. Nothing
/// where the device is no GPU or its SMs are unknown. `duration` is what the kernel takes alone, launch
/// included.
[[nodiscard]] std::optional<Demand> demand_of(const hardware::OperatorCase& asked, Seconds duration,
                                              const hardware::Device& device);

}  // namespace plimsoll::estimate
