#include "plan/cluster/policy.hpp"

namespace plimsoll::plan::cluster {

Scorer random_policy(const Cluster&, const Workload&) {
  return {.score = [](const Node&, const Pod&) { return 0.0; },
          .gpu =
              [](const Node& node, const Pod& pod, Random& random) {
                std::array<int, kMostGpus> fitting = {};
                std::size_t count = 0;
                for (int i = 0; i < node.gpu_count; ++i)
                  if (node.milli[i] >= pod.milli) fitting[count++] = i;
                return fitting[random.below(count)];
              },
          .by_lot = true};
}

}  // namespace plimsoll::plan::cluster
