#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "hardware/device.hpp"

namespace plimsoll::hardware {

/// A device from the text of its JSON file (docs/devices.md). Strict: a key nobody knows or that stands
/// twice, a unit that does not fit, a value that is negative, zero or not a number, a source that is not
/// declared are errors that name `where` and the key. The text may be hostile: size and depth are bounded.
[[nodiscard]] Result<Device> parse_device(std::string_view text, std::string_view where);

/// The same from a file of one's own, at most 4 MiB.
[[nodiscard]] Result<Device> load_file(const std::filesystem::path& path);

/// The text of a device's file, calibration and all: what parse_device() reads is the same device, but for
/// points of a calibration, which keep four significant digits.
[[nodiscard]] std::string write_device(const Device& device);

}  // namespace plimsoll::hardware
