#pragma once
#include <map>
#include <span>
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

/// One of those on a GPU together.
struct Companion {
  const plan::schedule::Kind* kind = nullptr;
  const share::Workload* workload = nullptr;  ///< none: only what it says is known
  std::optional<double> limit = {};           ///< s, of a service's requests
  double within = 0.99;                       ///< of the requests
};

/// What a group does, by `beside`; where one of them only says what it takes, by their shares. Services are
/// asked for `conditions.requests` requests, or as many as their limits speak of.
[[nodiscard]] plan::schedule::GroupRates group_rates(std::span<const Companion> group,
                                                     const plan::schedule::Setup& setup,
                                                     const hardware::Device& device,
                                                     const share::SharingFigures& figures,
                                                     const share::Conditions& conditions);

/// The same of any group of the question's kinds. What it is given must outlive it.
[[nodiscard]] plan::schedule::Rates predicted_rates(const PlanQuestion& question,
                                                    const std::vector<plan::schedule::Setup>& setups,
                                                    const hardware::Device& device,
                                                    const share::SharingFigures& figures,
                                                    const share::Conditions& conditions = {});

}  // namespace plimsoll
