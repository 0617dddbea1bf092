#pragma once
#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "base/units.hpp"
#include "estimate/parallel.hpp"
#include "estimate/time/time.hpp"
#include "hardware/device.hpp"
#include "network/setting.hpp"
#include "program/program.hpp"

namespace plimsoll::estimate {

/// Data-parallel training sums gradients in pieces of this size, as PyTorch does.
inline constexpr Bytes kBucket{std::int64_t{25} << 20};

/// What devices that train one network must exchange in a step. Pure, and without a link.
struct Exchange {
  Bytes gradients;          ///< that are summed or reduced at once
  Bytes weights;            ///< gathered in one pass over the network
  Bytes again;              ///< of them, those gathered once more since their layers are recomputed
  Bytes first;              ///< layer's weights: its gradients are ready only when the backward pass ends
  std::int64_t layers = 0;  ///< that are gathered, one after the other
  std::int64_t layers_again = 0;  ///< of them once more
};
[[nodiscard]] Exchange exchange_of(const program::Program& program, const network::Setting& setting);

/// What connects `devices` of them: as given, or the device's own link within one machine.
struct KnownLink {
  Link link;
  bool latency_known = false;
};
[[nodiscard]] Result<KnownLink> link_between(const hardware::Device& device,
                                             const network::Interconnect& interconnect, std::int64_t devices);

/// How long that takes on `devices`, beside passes of which each takes `forward` and `backward`.
struct PassTimes {
  Seconds forward, backward;
  int passes = 1;
};
[[nodiscard]] CommunicationTime communication_of(const Exchange& exchange, network::Sharding sharding,
                                                 std::int64_t devices, const KnownLink& known,
                                                 const PassTimes& beside);

/// The step of a device among several that train together: the same where one trains alone. Fails where what
/// connects them is not known.
[[nodiscard]] Result<TimeEstimate> with_communication(TimeEstimate alone, const program::Program& program,
                                                      const network::Setting& setting,
                                                      const hardware::Device& device);

/// Adds waiting to a step: time, interval, eager time, and what the device draws meanwhile.
void add_waiting(TimeEstimate& time, Seconds waiting, Seconds low, Seconds high,
                 const hardware::Device& device);

/// "compute", "memory", "launch", or "communication" where that takes more than half of the time.
[[nodiscard]] std::string_view bound_by(const TimeEstimate& time);

}  // namespace plimsoll::estimate
