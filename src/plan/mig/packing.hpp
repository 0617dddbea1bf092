#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "plan/mig/layouts.hpp"
#include "plan/mig/segments.hpp"

/// Instances of given sizes onto GPUs. Private to plan.
namespace plimsoll::plan {

/// Something that no GPU has more of: so much of it an instance of each size takes, so much a GPU has.
struct Yardstick {
  std::vector<int> parts = {};
  int capacity = 1;
  [[nodiscard]] std::int64_t of(const SizeCounts& counts) const;
};

/// What GPUs of a family can hold of each size: no more can be added to any of these.
struct GpuPatterns {
  InstanceSizes sizes;
  std::vector<SizeCounts> patterns = {};  ///< the largest instances first
  int compute_parts = 7, memory_parts = 8;
  /// Compute, memory, mixtures of both, and for every size how many a GPU holds that are no smaller.
  std::vector<Yardstick> yardsticks = {};
};
[[nodiscard]] GpuPatterns gpu_patterns(const hardware::MigTable& table);

/// What was found, or that nothing can be; neither where the search was given up.
struct Packing {
  std::optional<std::vector<SizeCounts>> gpus =
      {};  ///< what each holds, at most what one of the patterns has
  bool complete = true;
};
/// Onto `gpus` GPUs, within so many steps.
[[nodiscard]] Packing pack(const GpuPatterns& patterns, const SizeCounts& instances, std::size_t gpus,
                           std::size_t& steps);

/// Onto as many as it takes, each filled as well as it can be.
[[nodiscard]] std::vector<SizeCounts> pack_greedily(const GpuPatterns& patterns, SizeCounts instances);

}  // namespace plimsoll::plan
