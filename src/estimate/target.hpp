#pragma once
#include "hardware/device.hpp"
#include "network/setting.hpp"
#include "program/platform.hpp"

namespace plimsoll::estimate {

/// Where a network runs: a device, and the curves of its calibration (null: by the datasheet). Both must
/// outlive the target.
struct Target {
  const hardware::Device* device = nullptr;
  const hardware::OperatorCurves* curves = nullptr;
  [[nodiscard]] program::Platform platform(const network::Setting& setting) const {
    return program::platform_of(*device, curves, setting);
  }
};

}  // namespace plimsoll::estimate
