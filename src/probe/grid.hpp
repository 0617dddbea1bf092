#pragma once
#include <vector>

#include "hardware/calibration.hpp"
#include "hardware/device.hpp"
#include "probe/shapes.hpp"

namespace plimsoll::probe {

/// What one case may ask of the device.
struct GridLimits {
  GridKind kind = GridKind::gpu;
  double seconds = 0.02;           ///< by the figures below; a kernel may be some times slower
  double fast_flops_per_second{};  ///< of tf32, bf16 and fp16
  double flops_per_second{};       ///< of fp32
  double bytes_per_second{};
  double bytes = 8e9;  ///< of inputs and results together
};

/// Which operators to time: shapes as networks have them, none of any network, spread evenly (a sequence of
/// low discrepancy) over the logarithms of their extents. Most are convolutions and matrix products, where
/// networks spend their time. Any first part of the list has its share of every class, so that a calibration
/// that was interrupted can be used. Always the same for the same arguments.
[[nodiscard]] std::vector<hardware::OperatorCase> designed_grid(GridKind kind, const GridLimits& limits);

/// Limits for a device by its datasheet; where that is silent, those of a middling device of its kind.
[[nodiscard]] GridLimits limits_for(GridKind kind, const hardware::Device& device);

}  // namespace plimsoll::probe
