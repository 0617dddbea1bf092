#pragma once
#include "plan/schedule/instance.hpp"

namespace plimsoll::plan::schedule {

/// Below which no plan can be: the largest of its parts. In s from 0.
struct LowerBound {
  double work = 0;     ///< of all jobs, over what the places can do together at best
  double longest = 0;  ///< arrival and length of one job, with those that it waits for
  double share = 0;    ///< of GPUs that jobs keep busy, where shares bind
  double memory = 0;   ///< of all jobs, each as long as it takes at least, over what there is
  [[nodiscard]] double seconds() const;
};
/// `most_combined`: by setup, the highest combined speed of any group that the jobs allow, on one place.
[[nodiscard]] LowerBound lower_bound(const Instance& instance, std::span<const double> most_combined);

/// When each can end at the earliest, by its arrival, its length and those that it waits for; infinity where
/// jobs wait for each other in a circle, and for all that wait for those.
[[nodiscard]] std::vector<double> earliest_ends(std::span<const Job> jobs);

/// By setup, of all groups of up to `most` kinds, and of those that were asked for before.
[[nodiscard]] std::vector<double> most_combined(const Instance& instance, Rates& rates, std::size_t most);

}  // namespace plimsoll::plan::schedule
