#pragma once
#include <optional>
#include <span>
#include <string>

#include "hardware/calibration.hpp"
#include "hardware/json_section.hpp"

namespace plimsoll::hardware {

/// The section "calibration" of a device file, strictly; nothing where there is none, or an error. With a
/// `table` a group may say how many rows it has in place of them: they are the next of the table's, a number
/// per column, not a number where none is known.
[[nodiscard]] std::optional<Calibration> read_calibration(JsonSection& top,
                                                          std::span<const double> table = {});

/// Its text, a line per class of operators: numbers of points keep four significant digits, which is more
/// than a repeated measurement would.
[[nodiscard]] std::string calibration_text(const Calibration& calibration);

}  // namespace plimsoll::hardware
