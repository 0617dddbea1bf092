#include "program/platform.hpp"

#include "program/convolution_workspace.hpp"

namespace plimsoll::program {

Platform platform_of(const hardware::Device& device, const hardware::OperatorCurves* curves,
                     const network::Setting& setting) {
  constexpr std::int64_t kUsualMultiprocessors = 108;
  Platform platform{.gpu = device.kind == hardware::DeviceKind::gpu, .curves = curves};
  // Only sums of gradients split over multiprocessors, and only beside measured workspaces it matters whose
  // the rule is.
  if (setting.mode == network::Mode::train && platform.gpu)
    platform.multiprocessors = device.multiprocessors
                                   ? static_cast<std::int64_t>(device.multiprocessors->value)
                                   : kUsualMultiprocessors;
  platform.eight_bits = device.peak_of(hardware::Arithmetic::int8).has_value();
  if (curves != nullptr) platform.rule_is_of_device = device.id == kDeviceOfWorkspaceRule;
  return platform;
}

}  // namespace plimsoll::program
