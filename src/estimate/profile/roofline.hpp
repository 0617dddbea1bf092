#pragma once
#include <optional>

#include "base/units.hpp"
#include "estimate/profile/bottleneck.hpp"
#include "estimate/profile/kernel_efficiency.hpp"
#include "hardware/calibration.hpp"
#include "hardware/device.hpp"

namespace plimsoll::estimate {

/// Standard deviations on either side within which 95 % of a normal distribution lie.
inline constexpr double kNormal95 = 1.96;

/// One kernel's time, and what decides it.
struct KernelTime {
  Seconds seconds;
  Seconds change = {};   ///< of these, what passes before it computes, since another kernel ran before it
  double log_error = 0;  ///< standard deviation of log(true / predicted)
  Provenance provenance = Provenance::datasheet;
  Bottleneck bottleneck = Bottleneck::memory;
};

/// The rate at which a device computes in a format; where it has no units for it, in the next wider one.
[[nodiscard]] std::optional<double> rate_of(const hardware::Device& device, hardware::Arithmetic arithmetic);

/// How long the device takes from one kernel to the next, where nothing is computed.
[[nodiscard]] Seconds kernel_gap(const hardware::Device& device);

/// How the device computes the kernel: without matrix units for its format by vector units.
[[nodiscard]] KernelFormat format_on(const hardware::Device& device, const hardware::OperatorCase& c);

/// By the datasheet and a class's efficiency.
[[nodiscard]] std::optional<Seconds> roofline_seconds(const hardware::OperatorCase& c,
                                                      const KernelEfficiency& efficiency,
                                                      const hardware::Device& device);

/// By the datasheet alone: the roofline, lowered by what kernels of that class reach and by how far the work
/// fills the device. Nothing where the device lacks a rate or a bandwidth.
[[nodiscard]] std::optional<KernelTime> roofline_time(const hardware::OperatorCase& c,
                                                      const hardware::Device& device);

/// What the datasheet's peaks allow, whatever the kernel: the larger decides.
[[nodiscard]] Bottleneck bottleneck_of(const hardware::OperatorWork& work, hardware::Arithmetic arithmetic,
                                       Seconds seconds, const hardware::Device& device);

}  // namespace plimsoll::estimate
