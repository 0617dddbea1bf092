#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "plan/cluster/nodes.hpp"

namespace plimsoll::plan::cluster {

/// How much of a node's free GPUs the pods that arrive cannot use, in thousandths of a GPU: the mean over
/// pods, drawn as they arrive, of the free GPUs on which they cannot run. To a pod that does not fit at all,
/// and to one without GPUs, all that is free is a fragment. (Weng et al., Beware of Fragmentation,
/// USENIX ATC 2023.)
class Fragmentation {
 public:
  /// Kinds of pods count, most frequent first, until they are `share` of all.
  Fragmentation(const Cluster& cluster, const Workload& workload, double share);

  [[nodiscard]] double of(const Node& node) const;
  /// How much smaller the fragments are once the pod, which fits, stands on the node; `gpu` takes a share.
  [[nodiscard]] double gain(const Node& node, const Pod& pod, int gpu) const;

  struct Choice {
    double gain = 0;
    int gpu = -1;  ///< of a pod with a part of a GPU: where the gain is largest, the first of equals
  };
  [[nodiscard]] Choice best(const Node& node, const Pod& pod) const;

 private:
  struct Request {
    int gpus = 0, milli = 0;
  };
  std::vector<Request> requests_;   // of GPUs, each once; most of a GPU first
  std::vector<std::int64_t> cpus_;  // that pods ask for, ascending
  std::vector<double> shares_;      // of pods, by model, CPU that suffices, request
  double counted_ = 0;              // share of all pods that count
};

}  // namespace plimsoll::plan::cluster
