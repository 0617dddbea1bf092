#pragma once
#include <string>

#include "report/tta_report.hpp"

/// Drawings of times to a target, each an SVG element of a page that has the styles of run.css; a set-up has
/// its colour in all of them. Empty where there is nothing to draw. Private to report.
namespace plimsoll::report {

/// The first target's metric of every run, with the threshold.
[[nodiscard]] std::string learning_curves_svg(const TtaReport& report);
/// The share that has not reached it yet, with its interval; marks where a run was no longer looked at.
[[nodiscard]] std::string survival_curves_svg(const TtaReport& report);
/// A box per set-up: quartiles, median, all times; hollow: not reached.
[[nodiscard]] std::string time_boxes_svg(const TtaReport& report);

}  // namespace plimsoll::report
