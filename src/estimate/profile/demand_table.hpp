#pragma once
#include <span>

#include "hardware/calibration.hpp"

namespace plimsoll::estimate {

/// What Nsight Compute counted of one case on an H200, cudnn.benchmark on. Several launches may make up a
/// case (a convolution turns layouts before and after): seconds and bytes are sums, shares are over their
/// time, the launch is that of the longest. docs/profile.md says how they were taken.
struct CountedKernel {
  hardware::OperatorCase what;
  double launches = 1;
  double blocks = 0, warps_per_block = 0, blocks_per_sm = 0;
  double seconds = 0;
  double sm_share = 0;
  double occupancy = 0;
  double dram_bytes = 0;
  double tensor_share = 0;
};
inline constexpr double kCountedMultiprocessors = 132;  ///< of the GPU that was counted on
inline constexpr double kCountedMostWarps = 64;         ///< that an SM of it holds
inline constexpr double kCountedCache = 62914560;       ///< B of its L2

/// Those of one class, direction and arithmetic stand together, in the order of OperatorCase.
[[nodiscard]] std::span<const CountedKernel> counted_kernels();

}  // namespace plimsoll::estimate
