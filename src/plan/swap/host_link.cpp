#include "plan/swap/host_link.hpp"

#include <algorithm>

#include "hardware/ceilings.hpp"

namespace plimsoll::swapping {
namespace {

constexpr std::string_view kPinned = "copy-to-device-pinned";
constexpr Seconds kUsualLatency{10e-6};  // where nobody has measured: a little more than an H200's

/// What the smallest copy takes longer than its bytes.
Seconds latency_of(const hardware::Calibration& calibration, const hardware::Ceiling& best) {
  const hardware::Ceiling* smallest = nullptr;
  for (const hardware::Ceiling& ceiling : calibration.ceilings)
    if (ceiling.name == kPinned && ceiling.at && (smallest == nullptr || *ceiling.at < *smallest->at))
      smallest = &ceiling;
  if (smallest == nullptr || smallest == &best) return kUsualLatency;
  return Seconds(std::max(0.0, *smallest->at / smallest->figure.value - *smallest->at / best.figure.value));
}

}  // namespace

Result<HostLink> host_link(const hardware::Device& device) {
  if (device.calibration) {
    const hardware::Ceiling* best = hardware::ceiling_named(device.calibration->ceilings, kPinned);
    if (best != nullptr && best->figure.value > 0)
      return HostLink{BytesPerSecond(best->figure.value), latency_of(*device.calibration, *best),
                      Provenance::measured,
                      fmt::format("copies from pinned memory, {}", best->figure.source)};
  }
  if (device.link.starts_with("PCIe") && device.link_bandwidth)
    return HostLink{BytesPerSecond(device.link_bandwidth->value / 2), kUsualLatency, Provenance::datasheet,
                    fmt::format("half of {}, which is of both directions; latency assumed", device.link)};
  return std::unexpected(Error{fmt::format("how fast the host copies to {} is not known", device.name), "",
                               "say it with --link, for example --link 12GB/s, or measure it with "
                               "`plimsoll probe --calibrate`"});
}

}  // namespace plimsoll::swapping
