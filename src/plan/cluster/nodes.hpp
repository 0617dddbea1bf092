#pragma once
#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace plimsoll::plan::cluster {

inline constexpr int kWholeGpu = 1000;        ///< GPUs are shared by thousandths
inline constexpr std::size_t kMostGpus = 16;  ///< of one node

/// What of a node is still free. A value of a few words: policies try placements on copies.
struct Node {
  std::int64_t cpu = 0;     ///< thousandths of a core
  std::int64_t memory = 0;  ///< MiB
  std::array<std::int16_t, kMostGpus> milli = {};
  std::uint8_t gpu_count = 0;
  std::uint8_t model = 0;   ///< index into Cluster::models
  std::uint32_t kinds = 0;  ///< of pods that it carries: bit 0 shared GPUs, bit n those with n whole ones

  [[nodiscard]] std::span<const std::int16_t> gpus() const { return {milli.data(), gpu_count}; }
  [[nodiscard]] int free_milli() const;  ///< of all GPUs together
  [[nodiscard]] int free_gpus() const;   ///< GPUs that nobody uses
  friend bool operator==(const Node&, const Node&) = default;
};

/// What somebody asks for: no GPU, a part of one, or some whole ones.
struct Pod {
  std::int64_t cpu = 0;     ///< thousandths of a core
  std::int64_t memory = 0;  ///< MiB
  int gpus = 0;
  int milli = 0;             ///< of each GPU
  std::uint64_t models = 0;  ///< that will do, one bit each; none: any

  [[nodiscard]] bool shares() const { return gpus == 1 && milli < kWholeGpu; }
  [[nodiscard]] int all_milli() const { return gpus * milli; }
  [[nodiscard]] bool takes(std::uint8_t model) const { return models == 0 || (models >> model & 1) != 0; }
  friend auto operator<=>(const Pod&, const Pod&) = default;
};

/// Nodes with their names, and what their GPUs are called.
struct Cluster {
  std::vector<Node> nodes = {};
  std::vector<std::string> names = {};                ///< of nodes, in their order
  std::vector<std::string> models = {};               ///< of GPUs; pods may name some that no node has
  [[nodiscard]] std::int64_t capacity_milli() const;  ///< of all GPUs
};

/// Pods by kind: many ask for the same. What arrives is known by how often each kind does.
struct Workload {
  std::vector<Pod> kinds = {};
  std::vector<std::uint32_t> pods = {};              ///< the kind of each pod, in the file's order
  [[nodiscard]] std::vector<double> shares() const;  ///< of all pods, by kind
};

/// Whether the pod fits into what is free: CPU, memory, model and GPUs.
[[nodiscard]] bool fits(const Node& node, const Pod& pod);
/// The GPU with the least room that still takes the share; the pod fits.
[[nodiscard]] int tightest_gpu(const Node& node, const Pod& pod);
/// Takes what the pod asks for: a share of `gpu`, or whole GPUs, the first that are free. The pod fits.
void place(Node& node, const Pod& pod, int gpu);

/// Columns sn, cpu_milli, memory_mib, gpu, model, in any order beside others. Nodes without a GPU are left
/// out. All rows that cannot be used are told at once.
[[nodiscard]] Result<Cluster> read_nodes(std::string_view csv);
/// Columns name, cpu_milli, memory_mib, num_gpu, gpu_milli and, where there is one, gpu_spec
/// ("V100M16|V100M32"). Models that no node has are added to the cluster's.
[[nodiscard]] Result<Workload> read_pods(std::string_view csv, Cluster& cluster);
[[nodiscard]] Result<Cluster> read_nodes_file(const std::filesystem::path& path);
[[nodiscard]] Result<Workload> read_pods_file(const std::filesystem::path& path, Cluster& cluster);

}  // namespace plimsoll::plan::cluster
