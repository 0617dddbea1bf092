#include "share/figures.hpp"

#include "hardware/catalogue.hpp"
#include "hardware/ceilings.hpp"

namespace plimsoll::share {

double idle_watts(const hardware::Device& device) {
  if (device.calibration)
    if (const hardware::Ceiling* idle = hardware::ceiling_named(device.calibration->ceilings, "idle-power"))
      return idle->figure.value;
  constexpr double kIdleShare = 0.17;  // of the board's limit, as an H200's
  return device.power ? kIdleShare * device.power->value : 0;
}

std::optional<Bytes> memory_of(const hardware::Device& device) {
  const auto& memory = device.usable_memory ? device.usable_memory : device.memory;
  return memory ? std::optional(Bytes::rounded(memory->value)) : std::nullopt;
}

SharingFigures sharing_figures(const hardware::Device& device) {
  if (device.calibration && device.calibration->sharing) return *device.calibration->sharing;
  // Measured on another of its kind; a datasheet alone (no calibration at all) says nothing of it.
  if (const auto& catalogue = hardware::built_in_catalogue(); device.calibration && catalogue)
    if (const auto known = catalogue->find(device.id);
        known && (*known)->calibration && (*known)->calibration->sharing)
      return *(*known)->calibration->sharing;
  return {};
}

}  // namespace plimsoll::share
