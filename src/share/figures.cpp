#include "share/figures.hpp"

#include "hardware/ceilings.hpp"

namespace plimsoll::share {

double idle_watts(const hardware::Device& device) {
  if (device.calibration)
    if (const hardware::Ceiling* idle = hardware::ceiling_named(device.calibration->ceilings, "idle-power"))
      return idle->figure.value;
  constexpr double kIdleShare = 0.17;  // of the board's limit, as an H200's
  return device.power ? kIdleShare * device.power->value : 0;
}

SharingFigures sharing_figures(const hardware::Device& device) {
  SharingFigures figures;
  if (device.id == "h200") figures.provenance = Provenance::measured;
  return figures;
}

}  // namespace plimsoll::share
