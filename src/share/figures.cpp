#include "share/figures.hpp"

namespace plimsoll::share {

SharingFigures sharing_figures(const hardware::Device& device) {
  SharingFigures figures;
  if (device.id == "h200") figures.provenance = Provenance::measured;
  return figures;
}

}  // namespace plimsoll::share
