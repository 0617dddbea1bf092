#pragma once
#include <cstdint>
#include <optional>

#include "plan/schedule/engine.hpp"

namespace plimsoll::plan::schedule {

/// The shortest makespan of all plans in which jobs start when others end or arrive, found by looking at all
/// of them that a bound does not rule out.
struct Exact {
  double makespan = 0;
  bool proven = false;  ///< false: the limit on what is looked at was reached
  std::uint64_t looked_at = 0;
  std::vector<Ran> jobs = {};  ///< of the plan; empty where none is better than what was known
};
inline constexpr std::size_t kMostExactJobs = 10;

/// `known`: a makespan that is to be improved on; nothing is proven of plans for jobs with GPUs of their own.
[[nodiscard]] Exact exact_makespan(const Instance& instance, Rates& rates,
                                   std::span<const double> most_combined, double known,
                                   std::uint64_t most_looks);

}  // namespace plimsoll::plan::schedule
