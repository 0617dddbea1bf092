#include "plan/cluster/fragmentation.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <set>

namespace plimsoll::plan::cluster {
namespace {

/// What pods ask for, whatever their memory, and how often.
struct FrequentRequest {
  Pod pod;
  double share = 0;
};

/// Most frequent first, until they are that share of all pods.
std::vector<FrequentRequest> frequent_requests(const Workload& workload, double share) {
  const std::vector<double> shares = workload.shares();
  std::map<Pod, double> merged;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    Pod pod = workload.kinds[i];
    pod.memory = 0;
    merged[pod] += shares[i];
  }
  std::vector<FrequentRequest> out;
  for (const auto& [pod, each] : merged) out.push_back({pod, each});
  std::ranges::sort(out, [](const FrequentRequest& a, const FrequentRequest& b) {
    return a.share != b.share ? a.share > b.share : a.pod > b.pod;
  });
  double sum = 0;
  std::size_t count = 0;
  while (count < out.size() && sum < share) sum += out[count++].share;
  out.resize(count);
  return out;
}

}  // namespace

Fragmentation::Fragmentation(const Cluster& cluster, const Workload& workload, double share) {
  const std::vector<FrequentRequest> frequent = frequent_requests(workload, share);
  std::set<std::pair<int, int>, std::greater<>> requests;
  std::set<std::int64_t> cpus;
  for (const auto& [pod, each] : frequent) {
    counted_ += each;
    if (pod.gpus == 0) continue;
    requests.emplace(pod.milli, pod.gpus);
    cpus.insert(pod.cpu);
  }
  for (const auto& [milli, gpus] : requests) requests_.push_back({gpus, milli});
  cpus_.assign(cpus.begin(), cpus.end());
  const std::size_t width = requests_.size();
  shares_.resize(cluster.models.size() * (cpus_.size() + 1) * width);
  for (std::size_t model = 0; model < cluster.models.size(); ++model) {
    double* const rows = shares_.data() + model * (cpus_.size() + 1) * width;
    for (const auto& [pod, each] : frequent) {
      if (pod.gpus == 0 || !pod.takes(static_cast<std::uint8_t>(model))) continue;
      const auto at = requests.find({pod.milli, pod.gpus});
      const auto column = static_cast<std::size_t>(std::distance(requests.begin(), at));
      const auto first = static_cast<std::size_t>(std::ranges::lower_bound(cpus_, pod.cpu) - cpus_.begin());
      for (std::size_t row = first + 1; row <= cpus_.size(); ++row) rows[row * width + column] += each;
    }
  }
}

double Fragmentation::of(const Node& node) const {
  std::array<std::int16_t, kMostGpus> sorted = node.milli;
  const auto end = sorted.begin() + node.gpu_count;
  std::sort(sorted.begin(), end, std::greater<>());
  const auto row = static_cast<std::size_t>(std::ranges::upper_bound(cpus_, node.cpu) - cpus_.begin());
  const double* const shares = shares_.data() + (node.model * (cpus_.size() + 1) + row) * requests_.size();
  double usable = 0;
  int fitting = 0, room = 0;  // GPUs that a request can use, and what is free on them
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    while (fitting < node.gpu_count && sorted[fitting] >= requests_[i].milli) room += sorted[fitting++];
    if (fitting >= requests_[i].gpus) usable += shares[i] * room;
  }
  return counted_ * node.free_milli() - usable;
}

double Fragmentation::gain(const Node& node, const Pod& pod, int gpu) const {
  Node then = node;
  place(then, pod, gpu);
  return of(node) - of(then);
}

Fragmentation::Choice Fragmentation::best(const Node& node, const Pod& pod) const {
  const double now = of(node);
  Choice best{-std::numeric_limits<double>::infinity(), -1};
  for (int gpu = 0; gpu < (pod.shares() ? node.gpu_count : 1); ++gpu) {
    if (pod.shares() &&
        (node.milli[gpu] < pod.milli || std::find(node.milli.begin(), node.milli.begin() + gpu,
                                                  node.milli[gpu]) != node.milli.begin() + gpu))
      continue;  // no room, or as free as one before
    Node then = node;
    place(then, pod, gpu);
    if (const double gain = now - of(then); gain > best.gain) best = {gain, gpu};
  }
  return best;
}

}  // namespace plimsoll::plan::cluster
