#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "estimate/profile/activity.hpp"
#include "estimate/profile/profile.hpp"
#include "hardware/device.hpp"
#include "share/figures.hpp"

namespace plimsoll::share {

/// A launch of the device, as its SMs see it.
struct Kernel {
  float seconds = 0;    ///< that its blocks run, alone
  float gap = 0;        ///< s before it, in which the SMs are empty
  float waves = 0;      ///< blocks over those that fit the GPU at once
  float reach = 0;      ///< of the throughput of all SMs: those that get a block, as far as they are filled
  float sms = 0;        ///< SMs that have a block, of all, in the mean over `seconds`
  float bandwidth = 0;  ///< of what the memory can give, while it runs
  std::uint16_t groups = 1;  ///< of blocks that start together
  estimate::Bottleneck bottleneck = estimate::Bottleneck::memory;
};

/// What was measured of a workload that had the GPU to itself: means over a while, gaps included.
struct Alone {
  double steps_per_second = 0;
  std::optional<double> active = {};  ///< of the time in which a kernel runs (GPM's graphics activity)
  std::optional<double> sms = {}, occupancy = {}, bandwidth = {}, tensor = {};
  std::optional<double> watts = {};
  std::optional<double> reserved_bytes = {};
  friend bool operator==(const Alone&, const Alone&) = default;
};

/// Something that shares a GPU: the launches of one step in order, and its host.
struct Workload {
  std::string name = {};
  std::vector<Kernel> kernels = {};
  Seconds step = {};       ///< alone, exclusively
  Seconds host = {};       ///< of that, what its host needs to launch it; 0: captured in a graph
  Seconds returns = {};    ///< until a host that waited for the GPU has launched again
  int steps_per_wait = 0;  ///< after so many its host waits for the GPU; 0: it runs ahead
  double arrivals = 0;     ///< requests per second, a step each; 0: it goes on as fast as it can
  double log_error = 0;    ///< standard deviation of log(true / step) and of what follows from its kernels
  std::optional<Watts> watts = {};            ///< alone
  Bytes memory = {};                          ///< on the device, with which it runs
  Bytes memory_high = {};                     ///< that it takes at most where there is plenty, 95 %
  bool measured = false;                      ///< corrected by what was measured of it alone
  [[nodiscard]] bool waits_for_host() const;  ///< for a tenth of its time or more
};

/// Pure. Kernels as the profile has them; corrected where it was measured alone. Nothing where the device is
/// no GPU or its SMs are unknown.
[[nodiscard]] std::optional<Workload> workload_of(std::string name, const estimate::Profile& profile,
                                                  const program::Program& program,
                                                  const network::Setting& setting,
                                                  const hardware::Device& device,
                                                  const std::optional<Alone>& alone,
                                                  std::optional<Watts> watts);

/// The same kernels with a share of the SMs alone, `sms` of one, and of the bandwidth.
[[nodiscard]] std::vector<Kernel> confined(const std::vector<Kernel>& kernels, double sms, double bandwidth,
                                           const SharingFigures& figures);

/// The step of a workload whose kernels are these and run one after the other, each `launch` later.
[[nodiscard]] Seconds step_of(const Workload& workload, const std::vector<Kernel>& kernels, double launch,
                              double host_factor);

}  // namespace plimsoll::share
