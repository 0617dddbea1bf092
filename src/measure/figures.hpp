#pragma once
#include "base/figure.hpp"
#include "measure/measurement.hpp"

/// What a row measured, and what was estimated of the same: figures of one name, so that they can be
/// compared.
namespace plimsoll::measure {

[[nodiscard]] Figure seconds_figure(const Row& row);  ///< the median of a hot pass
[[nodiscard]] Figure joules_figure(const Row& row);   ///< of one pass

enum class MemoryFigure : std::uint8_t {
  peak_allocated,
  peak_reserved,
  device_used,
  peak_requested,  ///< from here on nothing is estimated
  peak_resident,
  context,
};
[[nodiscard]] Figure measured_figure(const Row& row, MemoryFigure which);
[[nodiscard]] Figure estimated_figure(const Row& row, MemoryFigure which);

}  // namespace plimsoll::measure
