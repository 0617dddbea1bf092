#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "plan/cluster/replay.hpp"
#include "report/table.hpp"

namespace plimsoll::report {

/// What policies made of one workload on one cluster, each over the same seeds.
struct ClusterReport {
  struct Row {
    std::string policy;
    plan::cluster::ReplaySummary summary;
  };
  std::size_t nodes = 0, gpus = 0, pods = 0;
  std::size_t kinds = 0;  ///< of pods that differ in what they ask for
  std::uint64_t first_seed = 0, seeds = 0;
  double fill = 0;
  std::vector<Row> rows;
};

[[nodiscard]] std::string cluster_text(const ClusterReport& report, const TextStyle& style);
/// Shares are of all GPUs, from 0 to 1.
[[nodiscard]] nlohmann::ordered_json cluster_json(const ClusterReport& report);

}  // namespace plimsoll::report
