#pragma once
#include <optional>
#include <vector>

#include "diagnose/verdict.hpp"

namespace plimsoll::diagnose {

/// The parts of a verdict beside the limiter.
[[nodiscard]] std::optional<Finding> outcome_finding(const Recording& recording, const RunFigures& figures);
[[nodiscard]] std::vector<Finding> findings_of(const Recording& recording, const RunFigures& figures);
[[nodiscard]] Waste waste_of(const RunFigures& figures);
[[nodiscard]] std::optional<Finding> utilization_finding(const RunFigures& figures);

}  // namespace plimsoll::diagnose
