#include "estimate/profile/activity.hpp"

#include <map>

namespace plimsoll::estimate {

std::optional<ProfileDemand> demand_of(const Profile& profile, const program::Program& program,
                                       const hardware::Device& device) {
  ProfileDemand out;
  out.kernels.reserve(profile.kernels.size());
  std::map<hardware::OperatorCase, Demand> known;  // networks repeat their layers
  Activity sum;
  for (const ProfiledKernel& kernel : profile.kernels) {
    const hardware::OperatorCase& what = program.kernels[kernel.launch.kernel];
    const auto [entry, fresh] = known.try_emplace(what);
    if (fresh) {
      const std::optional<Demand> found = demand_of(what, kernel.seconds, device);
      if (!found) return std::nullopt;
      entry->second = *found;
    }
    const Demand& demand = entry->second;
    const double seconds = kernel.all().value();
    sum.sm += demand.sm_share * seconds;
    sum.occupancy += demand.occupancy * seconds;
    sum.dram += demand.dram_share * seconds;
    sum.tensor += demand.tensor_share * seconds;
    out.kernels.push_back(demand);
  }
  const auto over = [&sum](Seconds all) {
    const double s = all.value();
    return s > 0 ? Activity{sum.sm / s, sum.occupancy / s, sum.dram / s, sum.tensor / s} : Activity{};
  };
  out.captured = over(profile.seconds);
  out.eager = over(profile.eager);
  return out;
}

}  // namespace plimsoll::estimate
