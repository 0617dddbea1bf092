#pragma once
#include "base/error.hpp"
#include "hardware/device.hpp"
#include "swapping/link.hpp"

namespace plimsoll::swapping {

/// From pinned memory, as a calibration measured it: its largest copies tell the bandwidth, the smallest the
/// latency. Else half of a PCIe link's datasheet, whose figure is of both directions. Fails where nothing
/// tells it.
[[nodiscard]] Result<HostLink> host_link(const hardware::Device& device);

}  // namespace plimsoll::swapping
