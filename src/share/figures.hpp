#pragma once
#include <optional>

#include "base/units.hpp"
#include "hardware/device.hpp"
#include "hardware/sharing_figures.hpp"

namespace plimsoll::share {

using hardware::SharingFigures;

/// What the device draws while it waits; an assumed share of its limit where nobody measured it.
[[nodiscard]] double idle_watts(const hardware::Device& device);

/// What programs can have of its memory; nothing where that is not known.
[[nodiscard]] std::optional<Bytes> memory_of(const hardware::Device& device);

/// As measured on this device, else on another of its kind; of others assumed to be those of an H200.
[[nodiscard]] SharingFigures sharing_figures(const hardware::Device& device);

}  // namespace plimsoll::share
