#include <algorithm>

#include "plan/cluster/policy.hpp"

namespace plimsoll::plan::cluster {

namespace {

double packing_points(const Node& node, const Pod& pod) {
  if (pod.gpus == 0) return 0;
  const int free = node.free_gpus();
  if (free == node.gpu_count) return std::max(33 - free, free);
  if (!pod.shares()) return std::max(50 - pod.gpus, 33);
  const int room = node.milli[tightest_gpu(node, pod)];
  return room == kWholeGpu ? 49 : std::max(100 - room * 100 / kWholeGpu / 10, 50);
}

}  // namespace

// Three steps: room on GPUs in use, the less the better; free GPUs of a node in use; an empty node. Points
// and their bounds are those of the published plugin.
Scorer packing_policy(const Cluster&, const Workload&) {
  return {.score = packing_points};
}

}  // namespace plimsoll::plan::cluster
