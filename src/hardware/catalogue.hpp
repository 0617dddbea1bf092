#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "base/embedded.hpp"
#include "base/error.hpp"
#include "hardware/device.hpp"
#include "hardware/device_file.hpp"

namespace plimsoll {
/// data/devices/*.json as they were when the program was built.
[[nodiscard]] std::span<const EmbeddedFile> embedded_devices();
/// A file of data/calibrations/: its calibration as read_calibration() takes it. As numbers its points are
/// there at once; reading them from text took longer than all the rest of an estimate.
struct EmbeddedCalibration {
  std::string_view name;
  std::string_view contents;
  std::span<const double> table;
};
[[nodiscard]] std::span<const EmbeddedCalibration> embedded_calibrations();
}  // namespace plimsoll

namespace plimsoll::hardware {

/// Devices by name. Ids, aliases and reported names are compared without regard to case, and a space or
/// underscore is a hyphen: "RTX 4090" is rtx-4090.
class Catalogue {
 public:
  /// Validates every file; two devices must not share an id, an alias or a reported name, and no alias may
  /// be the beginning of another device's id.
  [[nodiscard]] static Result<Catalogue> from(std::span<const EmbeddedFile> files);

  [[nodiscard]] const std::vector<Device>& devices() const { return devices_; }  ///< by id

  /// The device of that name, or the only one whose id begins with it ("jetson"). A name that fits several
  /// ("a100") is refused with the list; an unknown one with the nearest names.
  [[nodiscard]] Result<const Device*> find(std::string_view name) const;

  /// The device that a driver calls so ("NVIDIA A100-SXM4-80GB"), or null. Exact, but for case and "NVIDIA".
  [[nodiscard]] const Device* reported_as(std::string_view name) const;

  /// The dozen to compare with when nobody named one, oldest first.
  [[nodiscard]] std::vector<const Device*> well_known() const;

 private:
  explicit Catalogue(std::vector<Device> devices) : devices_(std::move(devices)) {}
  std::vector<Device> devices_;
};

/// The catalogue built into the program. Parsed when first asked for and never changed, so that commands
/// that need no device do not pay for it.
[[nodiscard]] const Result<Catalogue>& built_in_catalogue();

/// A device's calibration: its own, else the one that was measured on such a device and is built into the
/// program (data/calibrations/ID.json); nothing where there is none. Read when asked for, which takes some
/// milliseconds: who estimates many times keeps it.
[[nodiscard]] Result<std::optional<Calibration>> calibration_of(const Device& device);

}  // namespace plimsoll::hardware
