#pragma once
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "probe/survey.hpp"
#include "report/table.hpp"

namespace plimsoll::report {

/// One row per size, place and number of workers, the parts of its time side by side.
[[nodiscard]] Table vector_add_table(const probe::Survey& survey);
/// How near the sums come to what memory gives in the same run, in sentences.
[[nodiscard]] std::vector<std::string> vector_add_notes(const probe::Survey& survey);
/// One row per size, device and method.
[[nodiscard]] Table product_table(const probe::Survey& survey);
/// One row per ceiling, with its share of the datasheet's peak.
[[nodiscard]] Table ceiling_table(const probe::SurveyedDevice& device);
/// Rates whose name begins so by working set or size of copy, a column for each; empty where there are none.
[[nodiscard]] Table curve_table(const probe::SurveyedDevice& device, std::string_view prefix);
/// Sizes left out and the like, of all devices, and why there is no GPU.
[[nodiscard]] std::vector<std::string> survey_notes(const probe::Survey& survey);
/// Why figures are to be taken with care, of all devices.
[[nodiscard]] std::vector<std::string> survey_doubts(const probe::Survey& survey);

/// The whole answer for people, of what there is.
[[nodiscard]] std::string survey_text(const probe::Survey& survey, const TextStyle& style);
/// For programs: one line per figure in SI units.
[[nodiscard]] Table survey_csv(const probe::Survey& survey);
/// The same as one document, raw samples included.
[[nodiscard]] nlohmann::ordered_json to_json(const probe::Survey& survey);

}  // namespace plimsoll::report
