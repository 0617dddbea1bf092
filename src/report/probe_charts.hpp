#pragma once
#include <vector>

#include "probe/survey.hpp"
#include "report/log_chart.hpp"

namespace plimsoll::report {

/// Charts of what a survey has: sums with explicit copies and in unified memory, each with the CPU beside it;
/// products against size with the ceilings; memory by working set and copies by size; rooflines.
[[nodiscard]] std::vector<LogChart> survey_charts(const probe::Survey& survey);

}  // namespace plimsoll::report
