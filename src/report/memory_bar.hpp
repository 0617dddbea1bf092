#pragma once
#include <optional>
#include <span>
#include <string>

#include "base/units.hpp"
#include "report/table.hpp"

namespace plimsoll::report {

/// A part of a bar of memory: what it is, how it is drawn, how much it takes.
struct BarPart {
  std::string label;
  char fill = '#';
  int color = 0;  ///< of 256, as terminals number them
  Bytes bytes;
};

/// The parts side by side, to scale, with the device's line `|` at its capacity: within the bar where the
/// parts need more than that. Below it the scale, then a legend with bytes and shares of the whole; parts of
/// nothing are left out. Every line begins with two spaces and fits the terminal.
[[nodiscard]] std::string memory_bar(std::span<const BarPart> parts, std::optional<Bytes> capacity,
                                     const TextStyle& style);

}  // namespace plimsoll::report
