#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"
#include "queue/slurm/answers.hpp"
#include "queue/slurm/pool.hpp"

/// Slurm, by its commands. Each call takes as long as Slurm's controller does, up to a limit.
namespace plimsoll::queue::slurm {

/// What Slurm's configuration says.
struct Site {
  std::string cluster = {};
  std::string gres_types = {};  ///< "gpu,shard"
};
[[nodiscard]] Result<Site> look_at_site();

/// The number of the job that holds the allocation.
[[nodiscard]] Result<std::string> submit(const PoolSetting& setting, const AllocationTerms& terms);
/// All jobs of this user that wait or run.
[[nodiscard]] Result<std::vector<AllocationRow>> own_jobs();
/// Of the job's time limit; nothing where it has none.
[[nodiscard]] Result<std::optional<Seconds>> time_left(const std::string& job);
[[nodiscard]] Status show(const std::string& job, const std::string& name, const std::string& comment);
/// "RUNNING", "CANCELLED"…; fails where Slurm has forgotten it.
[[nodiscard]] Result<std::string> state_of(const std::string& job);
/// The generic resources that a node has: "gpu:h200:2,shard:h200:8".
[[nodiscard]] Result<std::string> gres_of(const std::string& node);

/// How many allocations of the pool there are, and asks for one where there is none that takes jobs, or, with
/// `more`, where none waits and there are fewer than the terms allow.
struct Asked {
  std::vector<AllocationRow> there = {};  ///< that take jobs, or will
  std::optional<std::string> asked = {};  ///< the number of the one that was asked for
};
[[nodiscard]] Result<Asked> ask_for_allocation(const PoolSetting& setting, const AllocationTerms& terms,
                                               bool more);

}  // namespace plimsoll::queue::slurm
