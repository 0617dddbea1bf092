#include "estimate/profile/profile.hpp"

#include <algorithm>
#include <cmath>

#include "estimate/profile/kernel_timer.hpp"
#include "estimate/profile/power_limit.hpp"

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

/// Passes that are alike follow each other: each takes what the host or the device takes, whichever is
/// slower.
class RepeatedPasses {
 public:
  void add(const program::Launch& launch, Seconds device, Seconds host, Profile& profile, Seconds& host_at) {
    if (launch.passes != passes_) end(profile, host_at);
    passes_ = launch.passes;
    device_ += device;
    host_ += host;
  }
  void end(Profile& profile, Seconds& host_at) {
    const double more = static_cast<double>(passes_) - 1;
    profile.seconds += device_ * more;
    profile.eager += std::max(device_, host_) * more;
    host_at += host_ * more;
    device_ = host_ = Seconds();
  }

 private:
  std::uint32_t passes_ = 1;
  Seconds device_, host_;
};

/// The host hands over a kernel at a time, and the device waits where it is faster.
void follow_each_other(Profile& profile) {
  const Seconds per_launch(profile.eager_launch ? profile.eager_launch->value : 0);
  Seconds host;
  RepeatedPasses repeated;
  for (ProfiledKernel& kernel : profile.kernels) {
    repeated.add(kernel.launch, kernel.seconds, per_launch, profile, host);
    host += per_launch;
    kernel.begin = profile.seconds;
    kernel.eager_begin = std::max(profile.eager, host);
    profile.seconds += kernel.seconds;
    profile.eager = kernel.eager_begin + kernel.seconds;
  }
  repeated.end(profile, host);
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
  out.passes = setting.mode == network::Mode::train ? std::max(setting.accumulate, 1) : 1;
  for (const program::Launch& launch : launches) {
    const hardware::OperatorCase& what = program.kernels[launch.kernel];
    const std::optional<KernelTime> time = timer.time(what);
    if (!time) return fail("{} has no figures for its rate and bandwidth", target.device->name);
    out.kernels.push_back({.launch = launch,
                           .work = hardware::work_of(what),
                           .seconds = time->seconds,
                           .change = time->change,
                           .log_error = time->log_error,
                           .provenance = time->provenance,
                           .bottleneck = time->bottleneck});
  }
  hold_to_power_limit(program, target, out.kernels);
  follow_each_other(out);
  return out;
}

}  // namespace plimsoll::estimate
