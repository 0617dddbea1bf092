#pragma once
#include <map>
#include <string>

#include "hardware/device_figure.hpp"
#include "hardware/json_section.hpp"

namespace plimsoll::hardware {

/// What a data file declares once and its figures name: provenance, source and date, without a value.
using Sources = std::map<std::string, DeviceFigure>;

enum class Declared : bool { if_any, always };
/// The section "sources" of a file, at most 200 of them; an absent one is an error where it must be there.
[[nodiscard]] Sources read_sources(JsonSection& top, Declared declared);

}  // namespace plimsoll::hardware
