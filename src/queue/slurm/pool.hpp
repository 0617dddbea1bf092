#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"
#include "queue/allocation.hpp"

/// Jobs of one user on one cluster that want the same of Slurm share allocations: a pool. Pure.
namespace plimsoll::queue::slurm {

/// What the allocations of a pool are asked for with.
struct PoolSetting {
  std::string cluster = {};
  std::string user = {};
  int gpus = 1;                           ///< of one allocation
  std::vector<std::string> options = {};  ///< of sbatch, as the user gave them
  friend bool operator==(const PoolSetting&, const PoolSetting&) = default;
};

/// Refuses those that decide what Plimsoll decides itself.
[[nodiscard]] Status check_options(const std::vector<std::string>& options);

/// Whether they say themselves which GPUs, or parts of them, are wanted.
[[nodiscard]] bool ask_for_gpus(const std::vector<std::string>& options);

/// "slurm/CLUSTER/USER/": the beginning of the names of all pools of a user.
[[nodiscard]] std::string pools_of(std::string_view cluster, std::string_view user);
[[nodiscard]] std::string pool_name(const PoolSetting& setting);

/// How allocations behave, beside what they are.
struct AllocationTerms {
  std::size_t most = 4;      ///< allocations of the pool at a time
  Seconds notice{120};       ///< before the end of its time, in which jobs save
  Seconds idle{60};          ///< after which an empty one ends
  Seconds lease{60};         ///< within which a job of a lost one is alive
  std::string log = {};      ///< what it prints; "%j" is its number
  std::string program = {};  ///< this one, where the nodes find it
};
/// The words of the daemon that runs inside.
[[nodiscard]] std::vector<std::string> daemon_words(const PoolSetting& setting, const AllocationTerms& terms);
/// Those of sbatch, which reads the script from its input.
[[nodiscard]] std::vector<std::string> sbatch_words(const PoolSetting& setting, const AllocationTerms& terms);
[[nodiscard]] std::string batch_script(const std::vector<std::string>& words);

/// What squeue shows of an allocation: "plimsoll 12,13", and its comment "plimsoll POOL; 2 run: 12 train…".
[[nodiscard]] std::string shown_name(const Inside& inside);
[[nodiscard]] std::string shown_comment(std::string_view pool, const Inside& inside);
[[nodiscard]] bool is_of_pool(std::string_view comment, std::string_view pool);
/// Not of one that is ending.
[[nodiscard]] bool takes_jobs(std::string_view comment);

/// The name under which the daemon of an allocation holds its claim: "scout-17.0@node1". One that Slurm
/// starts again has another.
struct AllocationId {
  std::string cluster = {};
  std::string job = {};
  std::string restart = "0";
  std::string node = {};
  friend bool operator==(const AllocationId&, const AllocationId&) = default;
};
[[nodiscard]] std::string host_name(const AllocationId& id);
/// Only the number of the job.
[[nodiscard]] std::string job_of_host(std::string_view host);

}  // namespace plimsoll::queue::slurm
