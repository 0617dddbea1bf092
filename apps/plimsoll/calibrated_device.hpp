#pragma once
#include <memory>
#include <string>

#include "base/error.hpp"
#include "hardware/device.hpp"
#include "hardware/operator_curve.hpp"

namespace plimsoll {

/// A device with what was measured of it, ready to be asked.
struct CalibratedDevice {
  hardware::Device device;
  /// Null where nobody has measured it: then its datasheet tells. Shared because they are large.
  std::shared_ptr<const hardware::OperatorCurves> curves = {};
};

/// `calibration` is a device file that holds one, "none" for the datasheet alone, or empty: the device's own,
/// or the built-in one of its kind.
[[nodiscard]] Result<CalibratedDevice> with_calibration(hardware::Device device,
                                                        const std::string& calibration = {});

}  // namespace plimsoll
