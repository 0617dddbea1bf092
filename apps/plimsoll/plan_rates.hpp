#pragma once
#include <map>
#include <vector>

#include "plan/schedule/planner.hpp"
#include "plan_jobs.hpp"
#include "share/beside.hpp"

namespace plimsoll {

/// Jobs as the planner takes them, with what is known of each kind.
struct PlanQuestion {
  std::vector<plan::schedule::Kind> kinds = {};
  std::vector<plan::schedule::Job> jobs;
  std::vector<std::optional<share::Workload>> workloads;  ///< by kind; nothing: only what it says is known
  std::vector<std::optional<double>> limits;              ///< by kind: s, of a service's requests
  std::vector<double> within;                             ///< by kind: of the requests
  bool shares_bind = false;                               ///< no kind has a workload
  /// Larger groups take too long to be simulated while many are looked at: services are, or many kinds.
  [[nodiscard]] bool is_slow() const;
};
[[nodiscard]] Result<PlanQuestion> plan_question(const std::vector<PlanJobRequest>& requests,
                                                 const EstimateTarget& on);

/// What groups do, by `beside`; of those that only say what they take, by their shares. What it is given must
/// outlive it.
[[nodiscard]] plan::schedule::Rates predicted_rates(const PlanQuestion& question,
                                                    const std::vector<plan::schedule::Setup>& setups,
                                                    const hardware::Device& device,
                                                    const share::SharingFigures& figures,
                                                    const share::Conditions& conditions = {});

}  // namespace plimsoll
