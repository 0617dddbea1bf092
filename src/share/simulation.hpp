#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "share/workload.hpp"

namespace plimsoll::share {

/// A workload in a simulation: its launches as they are there, and its host.
struct Player {
  const std::vector<Kernel>* kernels = nullptr;
  double step = 0;     ///< s, alone
  double host = 0;     ///< s per launch; 0: captured
  double launch = 0;   ///< s before each kernel, beside its gap
  double cap = 1;      ///< of the SMs
  double returns = 0;  ///< s until a host that waited for the GPU has launched again
  int steps_per_wait = 0;
  double arrivals = 0;  ///< requests per second, a step each; 0: it goes on as fast as it can
  double limit = 0;     ///< s, of its requests; 0: none
  bool first = false;   ///< under MPS its blocks are handed out before those of others
  /// With so many requests beyond their limit nothing else about a group is worth to be known: the simulation
  /// ends. 0: it goes on.
  std::size_t most_late = 0;
};

/// What became of it: shares of the time that was simulated.
struct Played {
  double steps_per_second = 0;
  double waiting = 0;                  ///< for a turn, or for room in the SMs
  double crowded = 0;                  ///< that kernels ran longer, for bandwidth and caches
  double behind = 0;                   ///< that the first unanswered request has waited in the end
  std::vector<double> latencies = {};  ///< s, of requests: from their arrival until they are answered
};

/// Requests of each service, for a 99th percentile.
inline constexpr std::size_t kSimulatedRequests = 2000;

/// Numbers that look drawn, the same each time.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : state_(seed) {}
  /// From 0 to 1.
  double uniform() {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<double>(state_ >> 11U) * 0x1p-53;
  }

 private:
  std::uint64_t state_;
};

/// A workload as it is alone: its kernels, which may be confined, must outlive it.
[[nodiscard]] Player player_of(const Workload& workload, const std::vector<Kernel>& kernels);

/// Kernels of all players in the SMs at once, until speeds are known with a standard error of `enough`. The
/// hardware hands out the blocks of kernels in the order in which they came; who comes later gets what is
/// left, and waits where nothing is (docs/beside.md).
[[nodiscard]] std::vector<Played> play_together(std::span<const Player> players,
                                                const SharingFigures& figures, double enough,
                                                std::size_t requests = kSimulatedRequests);

/// One player has the whole GPU at a time, for a slice or until it has nothing to run.
[[nodiscard]] std::vector<Played> play_in_turns(std::span<const Player> players,
                                                const SharingFigures& figures,
                                                std::size_t requests = kSimulatedRequests);

}  // namespace plimsoll::share
