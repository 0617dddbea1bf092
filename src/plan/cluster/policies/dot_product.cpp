#include <cmath>

#include "plan/cluster/policy.hpp"

namespace plimsoll::plan::cluster {

// Vectors of CPU and GPUs, free and asked for, each as a share of the largest node. As a Kubernetes plugin
// scores: whole points of a hundred, so that many nodes are equal.
Scorer dot_product_policy(const Cluster& empty, const Workload&) {
  return {.score = [largest = largest_node(empty)](const Node& node, const Pod& pod) {
    const double cpu =
        static_cast<double>(node.cpu) / largest.cpu * static_cast<double>(pod.cpu) / largest.cpu;
    const double gpu = node.free_milli() / largest.milli * pod.all_milli() / largest.milli;
    return std::floor(100 * (1 - (cpu + gpu) / 2));
  }};
}

}  // namespace plimsoll::plan::cluster
