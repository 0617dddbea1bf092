#include "plan/cluster/fragmentation.hpp"

#include <cmath>

#include "plan/cluster/policy.hpp"

namespace plimsoll::plan::cluster {
namespace {

/// Whole points of a hundred, as the published plugin has them: gains that differ little are equal.
double gradient_points(double gain) {
  return std::floor(100 / (1 + std::exp(-gain / kWholeGpu)));
}

}  // namespace

// Fragmentation gradient descent: the steepest way down.
Scorer fragmentation_policy(const Cluster& empty, const Workload& workload) {
  constexpr double kShareOfPods = 0.95;
  const auto measure = std::make_shared<Fragmentation>(empty, workload, kShareOfPods);
  return {.score = [measure](const Node& node,
                             const Pod& pod) { return gradient_points(measure->best(node, pod).gain); },
          .gpu =
              [measure](const Node& node, const Pod& pod, Random&) {
                int best = -1;
                double points = -1;
                for (int gpu = 0; gpu < node.gpu_count; ++gpu) {
                  if (node.milli[gpu] < pod.milli) continue;
                  const double here = gradient_points(measure->gain(node, pod, gpu));
                  if (here > points) {
                    points = here;
                    best = gpu;
                  }
                }
                return best;
              }};
}

}  // namespace plimsoll::plan::cluster
