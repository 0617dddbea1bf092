#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/all_errors.hpp"
#include "hardware/device.hpp"
#include "plan/schedule/planner.hpp"

namespace plimsoll {

/// GPUs alike in one machine, as a file of what there is has them.
struct PlanMachine {
  std::string name;
  std::string device;
  std::size_t gpus = 1;
  int cores = 0;                          ///< 0: nobody knows
  std::vector<std::string> sharing = {};  ///< ways that are allowed; empty: all
  std::vector<std::string> mig = {};      ///< profiles into which each is cut, and stays; `sharing`: in them
};

inline constexpr std::size_t kMostMachines = 10'000;

/// {"machine": [{"name": …, "device": "h200", "gpus": 4, …}, …]} in JSON, or [[machine]] tables where `name`,
/// which says where it comes from, ends in .toml. All mistakes are told at once.
[[nodiscard]] AllErrors<std::vector<PlanMachine>> read_plan_inventory(std::string_view text,
                                                                      const std::string& name);

/// GPUs of the fleet, which has all ways in which its device can be set up, as the machines have them.
[[nodiscard]] AllErrors<plan::schedule::Fleet> fleet_in(const std::vector<PlanMachine>& machines,
                                                        const hardware::Device& device,
                                                        plan::schedule::Fleet fleet,
                                                        bool clients_in_slices = true);

}  // namespace plimsoll
