#include <cmath>

#include "plan/cluster/fragmentation.hpp"
#include "plan/cluster/policy.hpp"

namespace plimsoll::plan {

Scorer plimsoll_policy(const Cluster& empty, const Workload& workload) {
  const auto measure = std::make_shared<Fragmentation>(empty, workload, 1.0);
  return {.score = [measure](const Node& node, const Pod& pod) { return measure->best(node, pod).gain; },
          .gpu = [measure](const Node& node, const Pod& pod, Random&) { return measure->best(node, pod).gpu; }};
}

}  // namespace plimsoll::plan
