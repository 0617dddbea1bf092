#pragma once
#include <optional>
#include <string>

#include "hardware/calibration.hpp"
#include "hardware/json_section.hpp"

namespace plimsoll::hardware {

/// The section "calibration" of a device file, strictly; nothing where there is none, or an error.
[[nodiscard]] std::optional<Calibration> read_calibration(JsonSection& top);

/// Its text, a line per class of operators: numbers of points keep four significant digits, which is more
/// than a repeated measurement would.
[[nodiscard]] std::string calibration_text(const Calibration& calibration);

}  // namespace plimsoll::hardware
