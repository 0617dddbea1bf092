#pragma once
#include <string>

#include "report/weighing.hpp"

namespace plimsoll::report {

/// The answer of `plimsoll weigh` as a page that stands alone: what the terminal shows, and tables of all
/// devices with their floors, of what they cost, and of the layers that take most time and memory.
[[nodiscard]] std::string weighing_page(const Weighing& weighing);

}  // namespace plimsoll::report
