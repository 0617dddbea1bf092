#include <cmath>

#include "plan/cluster/policy.hpp"

namespace plimsoll::plan::cluster {

// What is left over of CPU and GPUs, as shares of the largest node, in whole points of a hundred.
Scorer best_fit_policy(const Cluster& empty, const Workload&) {
  return {.score = [largest = largest_node(empty)](const Node& node, const Pod& pod) {
    const double left = static_cast<double>(node.cpu - pod.cpu) / largest.cpu +
                        (node.free_milli() - pod.all_milli()) / largest.milli;
    return std::floor(100 * (1 - left / 2));
  }};
}

}  // namespace plimsoll::plan::cluster
