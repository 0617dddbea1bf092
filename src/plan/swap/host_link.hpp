#pragma once
#include <string>

#include "base/error.hpp"
#include "base/figure.hpp"
#include "base/units.hpp"
#include "hardware/device.hpp"

namespace plimsoll::plan::swapping {

/// The way from the host's memory to the device: copies go one after the other, beside computing.
struct HostLink {
  BytesPerSecond bandwidth;
  Seconds latency;  ///< of each copy, before its bytes flow
  Provenance provenance = Provenance::assumed;
  std::string source;
  [[nodiscard]] Seconds copy(Bytes bytes) const { return latency + bytes / bandwidth; }
};

/// From pinned memory, as a calibration measured it: its largest copies tell the bandwidth, the smallest the
/// latency. Else half of a PCIe link's datasheet, whose figure is of both directions. Fails where nothing
/// tells it.
[[nodiscard]] Result<HostLink> host_link(const hardware::Device& device);

}  // namespace plimsoll::plan::swapping
