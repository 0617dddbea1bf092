#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "queue/allocation.hpp"
#include "queue/slurm/pool.hpp"

/// The allocation that this process runs in.
namespace plimsoll::queue::slurm {

/// What Slurm tells a batch script of its allocation.
struct LentAllocation {
  AllocationId id = {};
  std::string partition = {};
  std::vector<std::string> devices = {};  ///< GPUs, or slices of one, as CUDA names them
  std::size_t shards = 0;                 ///< of a shared GPU; 0: it holds GPUs whole
  double mps_percentage = 0;              ///< of the site's own MPS daemon; 0: none
};
/// From the environment: SLURM_JOB_ID, CUDA_VISIBLE_DEVICES…
using Lookup = std::optional<std::string> (*)(const char* name);
[[nodiscard]] Result<LentAllocation> read_allocation(Lookup variable);
/// Of one GPU: it has `on_node` shards divided among the GPUs of the node.
[[nodiscard]] double share_of(std::size_t shards, std::int64_t on_node, std::int64_t gpus);

[[nodiscard]] std::shared_ptr<Allocation> lent_allocation(const LentAllocation& lent,
                                                          const PoolSetting& setting,
                                                          const AllocationTerms& terms);

}  // namespace plimsoll::queue::slurm
