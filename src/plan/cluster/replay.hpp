#pragma once
#include <cstdint>
#include <vector>

#include "plan/cluster/policy.hpp"

namespace plimsoll::plan::cluster {

/// Pods arrive one after the other and none leaves: shuffled, then drawn again from all of them, until what
/// they ask for is `fill` times what the GPUs have.
struct ReplayOptions {
  std::uint64_t seed = 0;
  double fill = 1.3;
};

struct CurvePoint {
  double arrived = 0;    ///< what pods asked for so far, as a share of all GPUs
  double allocated = 0;  ///< what was given to them, as a share of all GPUs
};

struct Replay {
  double allocated = 0;                ///< share of all GPUs, where the requests that arrived reach all GPUs
  double fragmentation = 0;            ///< of all GPUs, at that point: free, and of no use to what arrives
  std::size_t arrived = 0;             ///< pods, up to that point
  std::size_t refused = 0;             ///< of these
  double allocated_at_end = 0;         ///< share of all GPUs, once all have arrived
  std::vector<CurvePoint> curve = {};  ///< at each whole percent that arrived, to the end
  Cluster end = {};                    ///< what is free at the end
};

/// The kinds of pods in the order in which they arrive. Fails where no pod asks for a GPU, or so little that
/// there would be no end.
[[nodiscard]] Result<std::vector<std::uint32_t>> arrivals(const Cluster& empty, const Workload& workload,
                                                          const ReplayOptions& options);

/// Each pod that arrives goes to the node that the policy likes best of those on which it fits, or is
/// refused. The same from the same seed on any machine.
[[nodiscard]] Result<Replay> replay(const Cluster& empty, const Workload& workload, const Policy& policy,
                                    const ReplayOptions& options);

/// Mean and standard deviation of `allocated` and the rest over seeds.
struct ReplaySummary {
  double allocated = 0, deviation = 0, least = 0, most = 0;
  double fragmentation = 0;
  double arrived = 0, refused = 0;  ///< pods
  double allocated_at_end = 0;      ///< share of all GPUs, once all have arrived
  std::vector<CurvePoint> curve = {};
};
[[nodiscard]] ReplaySummary summary(const std::vector<Replay>& replays);

}  // namespace plimsoll::plan::cluster
