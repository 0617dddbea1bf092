#pragma once
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "estimate/target.hpp"
#include "hardware/device.hpp"
#include "hardware/operator_curve.hpp"
#include "hardware/this_machine.hpp"

namespace plimsoll {

/// A device with what was measured of it, ready to be asked.
struct CalibratedDevice {
  hardware::Device device;
  /// Null where nobody has measured it: then its datasheet tells. Shared because they are large.
  std::shared_ptr<const hardware::OperatorCurves> curves = {};
  std::string note = {};  ///< why a calibration that lies ready was not taken

  [[nodiscard]] estimate::Target target() const { return {&device, curves.get()}; }
};

/// Where `plimsoll probe --calibrate` puts the calibration of a device of this machine, and where it is
/// looked for: calibrations/ID.json in the user's data folder. Nothing where nobody says where that is.
[[nodiscard]] std::optional<std::filesystem::path> own_calibration_file(const hardware::Device& device);

/// `calibration` is a device file that holds one, "none" for the datasheet alone, or empty: the device's own;
/// for a device `of_this_machine` the one that was taken here; else the built-in one of its kind. A file that
/// cannot be read is an error that names it. One that was taken of another device (a home folder that
/// machines share) is passed over, with a note.
[[nodiscard]] Result<CalibratedDevice> with_calibration(hardware::Device device,
                                                        const std::string& calibration = {},
                                                        bool of_this_machine = false);

/// What was measured of each GPU of this machine, in order; null where nothing was, or it cannot be read.
/// None without a machine.
[[nodiscard]] std::vector<std::shared_ptr<const hardware::OperatorCurves>> curves_of_gpus(
    const hardware::ThisMachine* machine);

}  // namespace plimsoll
