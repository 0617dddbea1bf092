#pragma once
#include <string>

#include "report/weighing.hpp"

namespace plimsoll::report {

/// The answer of `plimsoll weigh` as a page that stands alone: what the terminal shows, charts of
/// memory by part, of time by device and of the layers that take most time and memory, and tables of all
/// devices with what they cost and their floors. Devices that it fits on come first, the quickest first.
[[nodiscard]] std::string weighing_page(const Weighing& weighing);

}  // namespace plimsoll::report
