#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "job/fields.hpp"
#include "queue/daemon.hpp"
#include "queue/slurm/pool.hpp"

namespace plimsoll {

/// What stands on a command line of allocations of Slurm's.
struct SlurmOptions {
  bool wanted = false;
  std::vector<std::string> options = {};  ///< of sbatch
  std::int64_t allocations = 4;
  std::string notice = "120s", idle = "60s", lease = "60s";
  std::string log = {};
  std::string store = {};  ///< empty: as everywhere
};

/// Keeps the jobs of a submission in the store, and sees to it that there is an allocation for them. A
/// message without jobs only sees to that. `dry`: says what would be asked of Slurm.
[[nodiscard]] Result<job::Json> submit_to_slurm(const SlurmOptions& options, const job::Json& message,
                                                bool dry);

/// Asks for this user's jobs on Slurm, by the store.
[[nodiscard]] Result<job::Json> ask_slurm_queue(const std::string& store, const job::Json& message);

/// A daemon for the allocation that this process runs in.
[[nodiscard]] Status move_into_allocation(const SlurmOptions& options, int gpus,
                                          queue::DaemonOptions& daemon);

}  // namespace plimsoll
