#include "calibrated_device.hpp"

#include <fmt/format.h>

#include "hardware/catalogue.hpp"
#include "hardware/device_file.hpp"

namespace plimsoll {

Result<CalibratedDevice> with_calibration(hardware::Device device, const std::string& calibration) {
  CalibratedDevice out{std::move(device)};
  if (calibration == "none") {
    out.device.calibration.reset();
    return out;
  }
  if (!calibration.empty()) {
    Result<hardware::Device> measured = hardware::load_file(calibration);
    PLIMSOLL_TRY(measured);
    if (!measured->calibration)
      return std::unexpected(Error{.message = fmt::format("{} has no calibration", calibration),
                                   .hint = "`plimsoll probe --calibrate -o FILE` writes one"});
    out.device.calibration = std::move(measured->calibration);
  } else {
    Result<std::optional<hardware::Calibration>> own = hardware::calibration_of(out.device);
    PLIMSOLL_TRY(own);
    out.device.calibration = *std::move(own);
  }
  if (out.device.calibration && !out.device.calibration->points.empty())
    out.curves = std::make_shared<const hardware::OperatorCurves>(out.device.calibration->points);
  return out;
}

}  // namespace plimsoll
