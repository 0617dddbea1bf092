#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/units.hpp"
#include "estimate/memory/memory.hpp"

namespace plimsoll::report {

/// One HTML file that needs nothing else: memory over the events of one iteration, stacked by purpose, with
/// its phases and the device's line; pointing at a moment, or the arrow keys, name the largest tensors then.
/// What comes from a model is text in it, never markup. A row of pixels shows the highest of its events, and
/// the size grows with the number of tensors: about 30 bytes for each, and every name once.
[[nodiscard]] std::string timeline_page(const estimate::Timeline& timeline, std::string_view title,
                                        std::optional<Bytes> capacity);

}  // namespace plimsoll::report
