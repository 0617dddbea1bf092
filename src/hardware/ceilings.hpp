#pragma once
#include <span>
#include <string_view>

#include "hardware/calibration.hpp"

namespace plimsoll::hardware {

/// The best that was measured for that name: the highest rate, the shortest time, the fewest joules; of
/// memory at the largest working set, where no cache helps. Null where there is none.
[[nodiscard]] const Ceiling* ceiling_named(std::span<const Ceiling> ceilings, std::string_view name);

}  // namespace plimsoll::hardware
