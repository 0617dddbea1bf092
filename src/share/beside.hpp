#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "share/sharing.hpp"
#include "share/simulation.hpp"
#include "share/workload.hpp"

namespace plimsoll::share {

/// What a workload loses, as shares of its step alone: a step beside others takes 1 + the sum of these.
struct Causes {
  double waits = 0;      ///< for blocks of the others, in the order in which kernels came
  double bandwidth = 0;  ///< of the memory, and caches
  double slices = 0;     ///< turns of the others, and the changes between them
  double fewer_sms = 0;  ///< a cap, or a slice of the GPU
  double mps = 0;        ///< its own cost, without others
  double host = 0;       ///< cores that hosts share
  double power = 0;      ///< clocks that fall
};

/// Of the requests of a service.
struct Latency {
  Seconds median, p99;
  Seconds asked;                    ///< at the share that its limit is for; of none as p99
  Seconds alone_median, alone_p99;  ///< with the GPU to itself
  bool saturated = false;           ///< more is asked than it can answer: its queue grows without end
};

struct Member {
  double steps_per_second = 0;          ///< beside the others; of a service, requests that it answers
  double speed = 0, low = 0, high = 0;  ///< against running exclusively alone; 95 %
  Causes causes = {};
  std::optional<Latency> latency = {};
  std::optional<Bytes> capacity = {};  ///< of its slice, in which alone it has to fit
};

/// What several on one GPU do to each other.
struct Beside {
  Sharing sharing;
  std::vector<Member> members = {};  ///< as the workloads
  double combined = 0;               ///< sum of the speeds
  std::optional<Watts> watts = {};
  /// The joules of what they do together over those of the same one after the other.
  std::optional<double> energy_ratio = {};
  Provenance provenance = Provenance::assumed;
  [[nodiscard]] double slowest() const;
};

/// What requests of a service were promised: so many of them are answered within that.
struct Limit {
  double seconds = 0;  ///< 0: nothing
  double share = 0.99;
};

struct Conditions {
  std::optional<int> cores = {};              ///< of the host, where there may be too few
  double enough = 0.015;                      ///< standard error of a speed, of what is simulated
  std::size_t requests = kSimulatedRequests;  ///< of each service, that are simulated
  /// Under MPS services have a higher client priority than the others (CUDA_MPS_CLIENT_PRIORITY).
  bool services_first = false;
  /// By workload; empty: none. A group in which one is missed is looked at no longer than it takes to see
  /// that.
  std::vector<Limit> limits = {};
};

/// Pure. Fails where a cap leaves no SM, or profiles cannot be placed together.
[[nodiscard]] Result<Beside> beside(std::span<const Workload* const> workloads,
                                    const hardware::Device& device, const Sharing& sharing,
                                    const SharingFigures& figures, const Conditions& conditions = {});

}  // namespace plimsoll::share
