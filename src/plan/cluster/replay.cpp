#include "plan/cluster/replay.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "plan/cluster/fragmentation.hpp"

namespace plimsoll::plan::cluster {
namespace {

constexpr std::size_t kMostArrivals = 20'000'000;
constexpr std::size_t kMostScores = 20'000'000;  // a third of a gigabyte
constexpr double kMostLooks = 1e11;              // at nodes, by pods: minutes
constexpr double kDoesNotFit = -std::numeric_limits<double>::infinity();

/// Scores by kind of pod and node, asked for again only where the node changed since.
class ScoreTable {
 public:
  ScoreTable(const Scorer& scorer, std::size_t kinds, std::size_t nodes)
      : scorer_(scorer), of_kind_(kinds), versions_(nodes, 1) {}

  void changed(std::size_t node) { ++versions_[node]; }

  /// The best node for the pod; of equals the first, or one by lot. Nothing where it fits nowhere.
  std::optional<std::size_t> best(const std::vector<Node>& nodes, std::uint32_t kind, const Pod& pod,
                                  Random& random) {
    std::vector<Entry>& entries = of_kind_[kind];
    if (entries.empty()) entries.resize(nodes.size());
    double best = kDoesNotFit;
    std::size_t equals = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      Entry& entry = entries[i];
      if (entry.version != versions_[i]) entry = {score(nodes[i], pod), versions_[i]};
      if (entry.score > best) {
        best = entry.score;
        equals = 1;
      } else if (entry.score == best) {
        ++equals;
      }
    }
    if (best == kDoesNotFit) return std::nullopt;
    std::size_t drawn = scorer_.by_lot ? random.below(equals) : 0;
    for (std::size_t i = 0;; ++i)
      if (entries[i].score == best && drawn-- == 0) return i;
  }

 private:
  struct Entry {
    double score = 0;
    std::uint32_t version = 0;
  };
  [[nodiscard]] double score(const Node& node, const Pod& pod) const {
    return fits(node, pod) ? scorer_.score(node, pod) : kDoesNotFit;
  }

  const Scorer& scorer_;
  std::vector<std::vector<Entry>> of_kind_;
  std::vector<std::uint32_t> versions_;
};

double fragments(const Cluster& cluster, const Workload& workload) {
  const Fragmentation measure(cluster, workload, 1.0);
  double all = 0;
  for (const Node& node : cluster.nodes) all += measure.of(node);
  return all;
}

}  // namespace

Result<std::vector<std::uint32_t>> arrivals(const Cluster& empty, const Workload& workload,
                                            const ReplayOptions& options) {
  const double most = options.fill * static_cast<double>(empty.capacity_milli());
  double asked = 0;
  for (const std::uint32_t kind : workload.pods) asked += workload.kinds[kind].all_milli();
  if (asked == 0) return fail("no pod asks for a GPU");
  if (most / asked * static_cast<double>(workload.pods.size()) > static_cast<double>(kMostArrivals))
    return fail("pods ask for so little that more than {} would have to arrive", kMostArrivals);
  Random random(options.seed);
  std::vector<std::uint32_t> order = workload.pods;
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  double sum = 0;
  std::size_t count = 0;
  for (; count < 2 * kMostArrivals && sum < most; ++count) {
    if (count == order.size()) order.push_back(workload.pods[random.below(workload.pods.size())]);
    sum += workload.kinds[order[count]].all_milli();
  }
  order.resize(count);
  return order;
}

Result<Replay> replay(const Cluster& empty, const Workload& workload, const Policy& policy,
                      const ReplayOptions& options) {
  if (workload.kinds.size() * empty.nodes.size() > kMostScores)
    return fail("{} kinds of pods on {} nodes are too many", workload.kinds.size(), empty.nodes.size());
  const auto order = arrivals(empty, workload, options);
  PLIMSOLL_TRY(order);
  if (static_cast<double>(order->size()) * static_cast<double>(empty.nodes.size()) > kMostLooks)
    return fail("{} pods that arrive at {} nodes are too many", order->size(), empty.nodes.size());
  const Scorer scorer = policy.prepare(empty, workload);
  ScoreTable table(scorer, workload.kinds.size(), empty.nodes.size());
  Random lots(options.seed ^
              0x9E3779B97F4A7C15U);  // apart from arrivals, which are the same for all policies
  const auto capacity = static_cast<double>(empty.capacity_milli());
  Replay out{.end = empty};
  // Of nodes that a policy likes equally the first is taken: by their order in a file that is chance, too.
  for (std::size_t i = out.end.nodes.size(); i > 1; --i) {
    const std::size_t other = lots.below(i);
    std::swap(out.end.nodes[i - 1], out.end.nodes[other]);
    std::swap(out.end.names[i - 1], out.end.names[other]);
  }
  std::vector<Node>& nodes = out.end.nodes;
  double arrived = 0, allocated = 0;
  std::size_t refused = 0;
  bool full = false;
  for (std::size_t i = 0; i < order->size(); ++i) {
    const std::uint32_t kind = (*order)[i];
    const Pod& pod = workload.kinds[kind];
    arrived += pod.all_milli();
    if (const auto node = table.best(nodes, kind, pod, lots)) {
      place(nodes[*node], pod, pod.shares() ? scorer.gpu(nodes[*node], pod, lots) : -1);
      table.changed(*node);
      allocated += pod.all_milli();
    } else {
      ++refused;
    }
    if (arrived >= capacity * static_cast<double>(out.curve.size() + 1) / 100)
      out.curve.resize(static_cast<std::size_t>(arrived / capacity * 100),
                       {arrived / capacity, allocated / capacity});
    if (!full && (arrived >= capacity || i + 1 == order->size())) {
      full = true;
      out.allocated = allocated / capacity;
      out.arrived = i + 1;
      out.refused = refused;
      out.fragmentation = fragments(out.end, workload) / capacity;
    }
  }
  out.allocated_at_end = allocated / capacity;
  return out;
}

ReplaySummary summary(const std::vector<Replay>& replays) {
  ReplaySummary out{.least = 1};
  const auto count = static_cast<double>(replays.size());
  for (const Replay& replay : replays) {
    out.allocated += replay.allocated / count;
    out.fragmentation += replay.fragmentation / count;
    out.arrived += static_cast<double>(replay.arrived) / count;
    out.refused += static_cast<double>(replay.refused) / count;
    out.least = std::min(out.least, replay.allocated);
    out.most = std::max(out.most, replay.allocated);
    if (out.curve.empty() || replay.curve.size() < out.curve.size()) out.curve.resize(replay.curve.size());
  }
  double squares = 0;
  for (const Replay& replay : replays) {
    squares += std::pow(replay.allocated - out.allocated, 2);
    for (std::size_t i = 0; i < out.curve.size(); ++i) {
      out.curve[i].arrived += replay.curve[i].arrived / count;
      out.curve[i].allocated += replay.curve[i].allocated / count;
    }
  }
  if (replays.size() > 1) out.deviation = std::sqrt(squares / (count - 1));
  return out;
}

}  // namespace plimsoll::plan::cluster
