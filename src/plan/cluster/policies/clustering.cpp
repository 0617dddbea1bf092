#include <cmath>

#include "plan/cluster/policy.hpp"

namespace plimsoll::plan::cluster {

// Four steps: a node with pods of this size alone, with these among others, an empty one, one with others;
// within a step the node with the fewest free GPUs.
Scorer clustering_policy(const Cluster& empty, const Workload&) {
  return {.score = [largest = largest_node(empty)](const Node& node, const Pod& pod) {
    if (pod.gpus == 0) return 0.0;
    const std::uint32_t own = 1U << (pod.shares() ? 0 : pod.gpus);
    const int step = node.kinds == own ? 3 : (node.kinds & own) != 0 ? 2 : node.kinds == 0 ? 1 : 0;
    const double used = (largest.milli - node.free_milli()) / largest.milli;
    return 25 * step + std::floor(25 * used);
  }};
}

}  // namespace plimsoll::plan::cluster
