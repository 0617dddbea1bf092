#pragma once
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "hardware/device.hpp"
#include "hardware/operator_curve.hpp"

namespace plimsoll {

/// A device with what was measured of it, ready to be asked.
struct CalibratedDevice {
  hardware::Device device;
  /// Null where nobody has measured it: then its datasheet tells. Shared because they are large.
  std::shared_ptr<const hardware::OperatorCurves> curves = {};
  std::string note = {};  ///< why a calibration that lies ready was not taken
};

/// Whether a device's name on the command line means one of this machine.
[[nodiscard]] bool names_this_machine(std::string_view name);

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

}  // namespace plimsoll
