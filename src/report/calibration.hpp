#pragma once
#include <nlohmann/json.hpp>

#include "hardware/calibration.hpp"
#include "hardware/calibration_comparison.hpp"
#include "report/table.hpp"

namespace plimsoll::report {

/// Measured ceilings, each with its share of the datasheet's peak.
[[nodiscard]] Table ceiling_table(const hardware::Calibration& calibration);

/// Classes of operators: how many points, which efficiency, and how well points follow from the others.
[[nodiscard]] Table class_table(const hardware::Calibration& calibration);

/// Without the points themselves: they are in the file.
[[nodiscard]] nlohmann::ordered_json calibration_json(const hardware::Calibration& calibration);

/// Two calibrations, ceiling by ceiling and class by class.
[[nodiscard]] Table ceiling_differences(const hardware::CalibrationDifference& difference);
[[nodiscard]] Table class_differences(const hardware::CalibrationDifference& difference);
[[nodiscard]] nlohmann::ordered_json differences_json(const hardware::CalibrationDifference& difference);

}  // namespace plimsoll::report
