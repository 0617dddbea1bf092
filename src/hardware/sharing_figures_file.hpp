#pragma once
#include "hardware/json_section.hpp"
#include "hardware/sharing_figures.hpp"

namespace plimsoll::hardware {

/// The figures that a section has, strictly; those that it has not are as they were. Keys that nobody else
/// has asked for are errors.
void read_sharing_figures(JsonSection& section, SharingFigures& figures);
/// {"slice": 0.00209, "change": …}
[[nodiscard]] nlohmann::ordered_json sharing_figures_json(const SharingFigures& figures);

}  // namespace plimsoll::hardware
