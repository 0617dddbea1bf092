#include <algorithm>
#include <memory>

#include "plan/cluster/fragmentation.hpp"
#include "plan/cluster/gap_value.hpp"
#include "plan/cluster/policy.hpp"

namespace plimsoll::plan::cluster {
namespace {

// Beside what a placement costs in GPUs: how much fragmentation counts, and what is left over. Chosen on
// seeds that no figure in docs uses; twice as much of either changes the allocation by 0.2 points at most.
constexpr double kFragments = 0.15, kLeftOver = 0.05;

/// CPU and memory of pods with GPUs, for each thousandth of a GPU.
struct MeanNeeds {
  double cpu = 0, memory = 0;
};

MeanNeeds mean_needs(const Workload& workload) {
  MeanNeeds sum;
  double milli = 0;
  for (const std::uint32_t kind : workload.pods) {
    const Pod& pod = workload.kinds[kind];
    if (pod.gpus == 0) continue;
    sum.cpu += static_cast<double>(pod.cpu);
    sum.memory += static_cast<double>(pod.memory);
    milli += pod.all_milli();
  }
  return milli > 0 ? MeanNeeds{sum.cpu / milli, sum.memory / milli} : MeanNeeds{};
}

/// Free GPUs for which the node has no CPU or memory left, where pods need what they need on average.
double starved_gpus(const Node& node, const MeanNeeds& needs) {
  const double free = node.free_milli();
  const auto fed = [free](std::int64_t left, double need) {
    return need > 0 ? std::min(free, static_cast<double>(left) / need) : free;
  };
  return (free - std::min(fed(node.cpu, needs.cpu), fed(node.memory, needs.memory))) / kWholeGpu;
}

/// By model: the share of its GPUs that is wanted by pods that name models, once all GPUs are asked for.
std::vector<double> claims(const Cluster& cluster, const Workload& workload) {
  std::vector<double> capacity(cluster.models.size()), out(cluster.models.size());
  for (const Node& node : cluster.nodes) capacity[node.model] += node.free_milli();
  std::vector<double> asked(workload.kinds.size());
  double all = 0;
  for (const std::uint32_t kind : workload.pods) {
    asked[kind] += workload.kinds[kind].all_milli();
    all += workload.kinds[kind].all_milli();
  }
  for (std::size_t kind = 0; kind < asked.size(); ++kind) {
    const Pod& pod = workload.kinds[kind];
    if (pod.models == 0 || pod.gpus == 0) continue;
    const auto taken = [&](std::size_t model) { return pod.takes(static_cast<std::uint8_t>(model)); };
    double room = 0;
    for (std::size_t model = 0; model < capacity.size(); ++model)
      if (taken(model)) room += capacity[model];
    for (std::size_t model = 0; model < capacity.size() && room > 0; ++model)
      if (taken(model))
        out[model] += asked[kind] / all * static_cast<double>(cluster.capacity_milli()) / room;
  }
  return out;
}

struct Prepared {
  GapValue value;
  Fragmentation fragmentation;
  MeanNeeds needs;
  std::vector<double> claims;
  LargestNode largest;

  [[nodiscard]] double lost(int free, int taken) const { return value.of(free) - value.of(free - taken); }

  /// Where the share takes least of what a GPU's gap is worth; of equals the tightest.
  [[nodiscard]] int gpu(const Node& node, const Pod& pod) const {
    constexpr double kRounding = 1e-9;
    int best = -1;
    for (int i = 0; i < node.gpu_count; ++i) {
      if (node.milli[i] < pod.milli) continue;
      const double more = best < 0 ? -1 : lost(node.milli[i], pod.milli) - lost(node.milli[best], pod.milli);
      if (more < -kRounding || (more < kRounding && node.milli[i] < node.milli[best])) best = i;
    }
    return best;
  }

  [[nodiscard]] double score(const Node& node, const Pod& pod) const {
    const int share = pod.shares() ? gpu(node, pod) : -1;
    Node then = node;
    place(then, pod, share);
    const double worth = pod.shares() ? lost(node.milli[share], pod.milli) : pod.gpus;
    const double starved = starved_gpus(then, needs) - starved_gpus(node, needs);
    const double gain = (fragmentation.of(node) - fragmentation.of(then)) / kWholeGpu;
    const double left = static_cast<double>(then.cpu) / largest.cpu + then.free_milli() / largest.milli;
    return kFragments * gain - (1 + claims[node.model]) * (worth + starved) - kLeftOver * left / 2;
  }
};

}  // namespace

// What a placement costs, in GPUs: what the gap loses of its worth to pods that arrive (gap_value.hpp), and
// the free GPUs that it leaves without CPU or memory; GPUs of a model that pods name cost more.
Scorer plimsoll_policy(const Cluster& empty, const Workload& workload) {
  const auto prepared =
      std::make_shared<Prepared>(GapValue(workload), Fragmentation(empty, workload, 1.0),
                                 mean_needs(workload), claims(empty, workload), largest_node(empty));
  return {.score = [prepared](const Node& node, const Pod& pod) { return prepared->score(node, pod); },
          .gpu = [prepared](const Node& node, const Pod& pod, Random&) { return prepared->gpu(node, pod); }};
}

}  // namespace plimsoll::plan::cluster
