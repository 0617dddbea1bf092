#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "run/job.hpp"

namespace plimsoll::running {

/// Where a command runs that Slurm started, as its environment says.
struct SlurmPlace {
  std::map<std::string, std::string> tags = {};  ///< plimsoll.slurm.job_id, …, plimsoll.rank
  /// Of the record of the first of several ranks, which all of them can tell without asking each other;
  /// nothing where it is no rank of several.
  std::optional<std::string> first = {};
  bool is_first = false;
};
using EnvironmentLookup = std::function<std::optional<std::string>(std::string_view name)>;
[[nodiscard]] SlurmPlace slurm_place(const JobSpec& job, const EnvironmentLookup& variable);
/// With the job's own environment before this process's.
[[nodiscard]] SlurmPlace slurm_place(const JobSpec& job);

}  // namespace plimsoll::running
