#pragma once
#include <span>
#include <string>

#include "report/run_report.hpp"

namespace plimsoll::report {

/// One HTML file that needs nothing else: of one run or of several to compare. Outcome, verdict and what was
/// wasted in words; charts on one axis of elapsed time, one colour for each run; averages over the span that
/// is zoomed to; a row for each epoch and step. Without scripts it shows the same charts and tables, still.
/// What comes from a run is text in it, never markup.
[[nodiscard]] std::string run_page(std::span<const RunReport> reports);

}  // namespace plimsoll::report
