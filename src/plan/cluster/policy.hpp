#pragma once
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/random.hpp"
#include "plan/cluster/nodes.hpp"

namespace plimsoll::plan::cluster {

/// A policy made ready for one cluster and one workload.
struct Scorer {
  /// How well the pod would stand on the node, on which it fits; more is better, of equals the first.
  /// Depends on nothing but the two, so that it is asked again only of nodes that changed.
  std::function<double(const Node&, const Pod&)> score;
  /// Which GPU of the node that was chosen takes a pod with a part of a GPU.
  std::function<int(const Node&, const Pod&, Random&)> gpu = [](const Node& node, const Pod& pod, Random&) {
    return tightest_gpu(node, pod);
  };
  bool by_lot = false;  ///< of equals any, instead
};

/// To add one: a file in policies/, a declaration below, a row in policy.cpp.
struct Policy {
  std::string_view name;   ///< "best-fit"
  std::string_view about;  ///< one line for people
  /// The cluster is empty; how often each kind of pod comes is known, in which order is not.
  Scorer (*prepare)(const Cluster& empty, const Workload& workload);
};

[[nodiscard]] std::span<const Policy> policies();
/// Those named, in their order; "all" are all.
[[nodiscard]] Result<std::vector<Policy>> policies_named(std::span<const std::string> names);

[[nodiscard]] Scorer random_policy(const Cluster& empty, const Workload& workload);
[[nodiscard]] Scorer dot_product_policy(const Cluster& empty, const Workload& workload);
[[nodiscard]] Scorer clustering_policy(const Cluster& empty, const Workload& workload);
[[nodiscard]] Scorer packing_policy(const Cluster& empty, const Workload& workload);
[[nodiscard]] Scorer best_fit_policy(const Cluster& empty, const Workload& workload);
[[nodiscard]] Scorer fragmentation_policy(const Cluster& empty, const Workload& workload);
[[nodiscard]] Scorer plimsoll_policy(const Cluster& empty, const Workload& workload);

/// The largest node in each respect, against which requests are measured.
struct LargestNode {
  double cpu = 1;    ///< thousandths of a core
  double milli = 1;  ///< of all its GPUs
};
[[nodiscard]] LargestNode largest_node(const Cluster& cluster);

}  // namespace plimsoll::plan::cluster
