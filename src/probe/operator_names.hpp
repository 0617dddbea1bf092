#pragma once
#include <optional>

#include "hardware/calibration.hpp"
#include "job/operator_case.hpp"

namespace plimsoll::probe {

/// A case in the engine's words, and back; nothing where a word is unknown or the number of extents wrong.
[[nodiscard]] job::OperatorCase engine_case(const hardware::OperatorCase& c);
[[nodiscard]] std::optional<hardware::OperatorCase> calibration_case(const job::OperatorCase& c);

}  // namespace plimsoll::probe
