#pragma once
#include <string>

#include "probe/survey.hpp"

namespace plimsoll::report {

/// One HTML file that needs nothing else, no script either: what was found, as tables and charts.
[[nodiscard]] std::string survey_page(const probe::Survey& survey);

}  // namespace plimsoll::report
