#pragma once
#include <string>

#include "plan_rates.hpp"

namespace plimsoll {

/// What is true in a simulation: measured groups where a file has them, what is predicted otherwise, off by
/// as much as `disturbed` says, up or down, drawn by seed for each kind in each group.
struct TruthOptions {
  std::string measured;  ///< rows of groups in JSON, one a line: {"kind": "group", "workloads": […], …}
  double disturbed = 0;
  std::uint64_t seed = 0;
};
/// Kinds are known by their names there. What it is given must outlive it.
[[nodiscard]] Result<plan::schedule::Rates> true_rates(const TruthOptions& options,
                                                       const PlanQuestion& question,
                                                       const std::vector<plan::schedule::Setup>& setups,
                                                       plan::schedule::Rates& beliefs);

}  // namespace plimsoll
