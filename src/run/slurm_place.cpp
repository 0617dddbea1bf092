#include "run/slurm_place.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "run/provenance.hpp"

namespace plimsoll::running {
namespace {

constexpr std::size_t kLongest = 250;

constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kRecorded{{
    {"SLURM_CLUSTER_NAME", "cluster"},
    {"SLURM_JOB_ID", "job_id"},
    {"SLURM_STEP_ID", "step_id"},
    {"SLURM_ARRAY_JOB_ID", "array_job_id"},
    {"SLURM_ARRAY_TASK_ID", "array_task_id"},
    {"SLURM_RESTART_COUNT", "restart_count"},
    {"SLURM_JOB_PARTITION", "partition"},
    {"SLURMD_NODENAME", "node"},
    {"SLURM_NODEID", "node_id"},
    {"SLURM_PROCID", "proc_id"},
    {"SLURM_LOCALID", "local_id"},
    {"CUDA_VISIBLE_DEVICES", "devices"},
}};

/// Two runs of FNV-1a, 32 hexadecimal digits: it tells the steps of one's jobs apart.
std::string mixed(std::string_view text) {
  std::array<std::uint64_t, 2> hashes{0xcbf29ce484222325U, 0x9e3779b97f4a7c15U};
  for (const char c : text)
    for (std::uint64_t& hash : hashes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return fmt::format("{:016x}{:016x}", hashes[0], hashes[1]);
}

}  // namespace

SlurmPlace slurm_place(const JobSpec& job, const EnvironmentLookup& variable) {
  SlurmPlace out;
  if (variable("SLURM_JOB_ID").value_or("").empty()) return out;
  std::map<std::string_view, std::string> found;
  for (const auto& [name, tag] : kRecorded) {
    auto value = variable(name);
    if (!value || value->empty()) continue;
    found[name] = printable(value->substr(0, kLongest));
    out.tags[fmt::format("plimsoll.slurm.{}", tag)] = found[name];
  }
  // The batch script itself is no step, and no rank.
  const std::string ranks = variable("SLURM_STEP_NUM_TASKS").value_or(variable("SLURM_NTASKS").value_or(""));
  if (!found.contains("SLURM_STEP_ID") || !found.contains("SLURM_PROCID") || ranks.empty() || ranks == "1")
    return out;
  out.tags["plimsoll.rank"] = found["SLURM_PROCID"];
  out.tags["plimsoll.ranks"] = printable(ranks.substr(0, kLongest));
  out.is_first = found["SLURM_PROCID"] == "0";
  out.first =
      mixed(fmt::format("{}|{}|{}|{}|{}|{}", found["SLURM_CLUSTER_NAME"], found["SLURM_JOB_ID"],
                        found["SLURM_STEP_ID"], found["SLURM_RESTART_COUNT"], fingerprint(job), job.name));
  return out;
}

SlurmPlace slurm_place(const JobSpec& job) {
  return slurm_place(job, [&](std::string_view name) -> std::optional<std::string> {
    const auto own = std::ranges::find(job.environment, name, &std::pair<std::string, std::string>::first);
    if (own != job.environment.end()) return own->second;
    const char* const value = std::getenv(std::string(name).c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  });
}

}  // namespace plimsoll::running
