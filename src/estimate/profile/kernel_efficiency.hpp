#pragma once
#include <span>

#include "hardware/calibration.hpp"

namespace plimsoll::estimate {

/// What kernels of a class reach of a device's peaks where the work fills it, and how much more work their
/// way up to that is worth: FLOPs and bytes per multiprocessor.
struct KernelEfficiency {
  double compute = 0.5, memory = 0.7;
  double ramp_flops = 0, ramp_bytes = 0;
  double log_error = 0.35;  ///< standard deviation of log(measured / predicted)
};

/// Where a product is computed: by vector units, or by matrix units in TF32 or in half precision and less.
/// These are other kernels, and reach other shares.
enum class KernelFormat : std::uint8_t { vector, tf32, half };
[[nodiscard]] KernelFormat format_of(hardware::Arithmetic arithmetic);

struct KernelEfficiencyRow {
  hardware::OperatorClass operator_class;
  hardware::Direction direction;
  KernelFormat format;
  KernelEfficiency efficiency;
};
/// As fitted to the operators measured on an H200, and taken for every device: shares of peaks move less from
/// chip to chip than the peaks.
[[nodiscard]] std::span<const KernelEfficiencyRow> kernel_efficiencies();

/// Of a class that was not measured so: in another format, or as usual.
[[nodiscard]] const KernelEfficiency& efficiency_of(const hardware::OperatorCase& c, KernelFormat format);

}  // namespace plimsoll::estimate
