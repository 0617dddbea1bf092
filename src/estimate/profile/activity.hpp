#pragma once
#include <optional>
#include <vector>

#include "estimate/profile/demand.hpp"
#include "estimate/profile/profile.hpp"

namespace plimsoll::estimate {

/// Means over a whole pass or step, gaps included, as NVML's GPM tells them of a program that runs alone.
struct Activity {
  double sm = 0;         ///< SMs that have a block, of all
  double occupancy = 0;  ///< resident warps over the most, over all SMs
  double dram = 0;       ///< of the memory's bandwidth
  double tensor = 0;     ///< of the peak of tensor units
};

/// What a Profile asks of its GPU.
struct ProfileDemand {
  std::vector<Demand> kernels;  ///< as in Profile::kernels
  Activity captured, eager;
};

/// Nothing where the device is no GPU, or its SMs are unknown.
[[nodiscard]] std::optional<ProfileDemand> demand_of(const Profile& profile, const program::Program& program,
                                                     const hardware::Device& device);

}  // namespace plimsoll::estimate
