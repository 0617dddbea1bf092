#include "plan/cluster/nodes.hpp"

#include <algorithm>
#include <numeric>

namespace plimsoll::plan::cluster {

int Node::free_milli() const {
  return std::accumulate(milli.begin(), milli.begin() + gpu_count, 0);
}

int Node::free_gpus() const {
  return static_cast<int>(std::ranges::count(gpus(), kWholeGpu));
}

std::int64_t Cluster::capacity_milli() const {
  std::int64_t all = 0;
  for (const Node& node : nodes) all += std::int64_t{node.gpu_count} * kWholeGpu;
  return all;
}

std::vector<double> Workload::shares() const {
  std::vector<double> shares(kinds.size());
  for (const std::uint32_t kind : pods) shares[kind] += 1.0 / static_cast<double>(pods.size());
  return shares;
}

bool fits(const Node& node, const Pod& pod) {
  if (pod.cpu > node.cpu || pod.memory > node.memory) return false;
  if (pod.gpus == 0) return true;
  if (!pod.takes(node.model)) return false;
  return std::ranges::count_if(node.gpus(), [&](int free) { return free >= pod.milli; }) >= pod.gpus;
}

int tightest_gpu(const Node& node, const Pod& pod) {
  int best = -1;
  for (int i = 0; i < node.gpu_count; ++i)
    if (node.milli[i] >= pod.milli && (best < 0 || node.milli[i] < node.milli[best])) best = i;
  return best;
}

void place(Node& node, const Pod& pod, int gpu) {
  node.cpu -= pod.cpu;
  node.memory -= pod.memory;
  if (pod.gpus == 0) return;
  node.kinds |= 1U << (pod.shares() ? 0 : pod.gpus);
  if (pod.shares()) {
    node.milli[gpu] = static_cast<std::int16_t>(node.milli[gpu] - pod.milli);
    return;
  }
  int left = pod.gpus;
  for (int i = 0; i < node.gpu_count && left > 0; ++i)
    if (node.milli[i] == kWholeGpu) {
      node.milli[i] = 0;
      --left;
    }
}

}  // namespace plimsoll::plan::cluster
