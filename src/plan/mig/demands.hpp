#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/all_errors.hpp"
#include "plan/mig/packing.hpp"
#include "plan/mig/segments.hpp"

/// What services ask of GPUs. Private to plan.
namespace plimsoll::plan {

/// A service, and how much it asks of GPUs.
struct Demand {
  BestRows rows = {};
  double rate = 0;                       ///< that remains beside what is settled
  SizeCounts settled = {};               ///< instances that it has in any case
  std::int64_t compute = 0, memory = 0;  ///< the fewest parts for what remains
};

struct Demands {
  std::vector<Demand> each = {};
  std::vector<std::int64_t> least = {};  ///< the fewest parts for all of it, by each yardstick
  SizeCounts settled = {};               ///< instances of all services
};

/// The rows that hold each service's limit, and the fewest parts for its rate. Fails for every service that
/// cannot be had.
[[nodiscard]] AllErrors<Demands> demands_of(const GpuPatterns& patterns,
                                            std::span<const ServedProfile> profiles,
                                            std::span<const Service> services, double share_of_limit);

/// Leaves so many GPUs of each service to be planned with the others', and settles the rest.
[[nodiscard]] Demands with_most_settled(Demands demands, const GpuPatterns& patterns, std::size_t planned);

void add_counts(SizeCounts& sum, const SizeCounts& more);

}  // namespace plimsoll::plan
