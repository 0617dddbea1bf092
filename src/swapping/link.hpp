#pragma once
#include <string>

#include "base/figure.hpp"
#include "base/units.hpp"

namespace plimsoll::swapping {

/// The way from the host's memory to the device: copies go one after the other, beside computing.
struct HostLink {
  BytesPerSecond bandwidth;
  Seconds latency;  ///< of each copy, before its bytes flow
  Provenance provenance = Provenance::assumed;
  std::string source;
  [[nodiscard]] Seconds copy(Bytes bytes) const { return latency + bytes / bandwidth; }
};

}  // namespace plimsoll::swapping
