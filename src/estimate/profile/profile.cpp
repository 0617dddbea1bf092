#include "estimate/profile/profile.hpp"

#include <algorithm>
#include <cmath>

#include "estimate/profile/kernel_timer.hpp"

namespace plimsoll::estimate {
namespace {

// The host's time per kernel, of an H200's machine; assumed for every GPU that nobody has calibrated.
constexpr double kEagerLaunch = 1.111e-5;  // s

std::optional<hardware::DeviceFigure> eager_launch(const Target& target) {
  const hardware::Device& device = *target.device;
  if (device.kind != hardware::DeviceKind::gpu) return std::nullopt;
  if (target.curves != nullptr && device.calibration && device.calibration->eager_launch)
    return device.calibration->eager_launch;
  return hardware::DeviceFigure{kEagerLaunch, Provenance::assumed, "as on an H200"};
}

}  // namespace

Seconds ProfiledKernel::low() const {
  return seconds * std::exp(-kNormal95 * log_error);
}
Seconds ProfiledKernel::high() const {
  return seconds * std::exp(kNormal95 * log_error);
}

std::string_view name(Bottleneck bottleneck) {
  static constexpr std::string_view kNames[] = {"compute", "memory", "launch"};
  return kNames[static_cast<std::size_t>(bottleneck)];
}

Result<Profile> profile(const program::Program& program, const network::Setting& setting,
                        const Target& target) {
  Profile out;
  out.eager_launch = eager_launch(target);
  out.calibrated = target.curves != nullptr;
  KernelTimer timer(target);
  const std::vector<program::Launch> launches = program::launches(program, setting);
  out.kernels.reserve(launches.size());
  const Seconds per_launch(out.eager_launch ? out.eager_launch->value : 0);
  Seconds host;
  for (const program::Launch& launch : launches) {
    const hardware::OperatorCase& what = program.kernels[launch.kernel];
    const std::optional<KernelTime> time = timer.time(what);
    if (!time) return fail("{} has no figures for its rate and bandwidth", target.device->name);
    // The host hands over a kernel at a time, and the device waits where it is faster.
    host += per_launch;
    const Seconds eager_begin = std::max(out.eager, host);
    out.kernels.push_back({.launch = launch,
                           .work = hardware::work_of(what),
                           .seconds = time->seconds,
                           .change = time->change,
                           .log_error = time->log_error,
                           .provenance = time->provenance,
                           .bottleneck = time->bottleneck,
                           .begin = out.seconds,
                           .eager_begin = eager_begin});
    out.seconds += time->seconds;
    out.eager = eager_begin + time->seconds;
  }
  return out;
}

}  // namespace plimsoll::estimate
