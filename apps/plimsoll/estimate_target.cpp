#include "estimate_target.hpp"

#include "gpu_users.hpp"
#include "hardware/this_machine.hpp"

namespace plimsoll {
namespace {

Result<EstimateTarget> target_named(const std::string& name, const std::string& calibration) {
  Result<hardware::Device> device = hardware::device_named(name);
  PLIMSOLL_TRY(device);
  std::vector<report::OtherUser> others;
  if (name == "this" && device->kind == hardware::DeviceKind::gpu) {
    GpuUse use = gpu_use(0);
    leave_to_users(*device, use);
    if (use.free) others = std::move(use.users);
  }
  Result<CalibratedDevice> calibrated =
      with_calibration(*std::move(device), calibration, hardware::names_this_machine(name));
  PLIMSOLL_TRY(calibrated);
  return EstimateTarget{*std::move(calibrated), std::move(others)};
}

}  // namespace

Result<std::vector<EstimateTarget>> estimate_targets(const std::vector<std::string>& names,
                                                     const std::string& calibration) {
  std::vector<EstimateTarget> targets;
  for (const std::string& name : names.empty() ? std::vector<std::string>{"this"} : names) {
    Result<EstimateTarget> target = target_named(name, calibration);
    PLIMSOLL_TRY(target);
    targets.push_back(*std::move(target));
  }
  return targets;
}

}  // namespace plimsoll
