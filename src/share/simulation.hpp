#pragma once
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
};

/// What became of it: shares of the time that was simulated.
struct Played {
  double steps_per_second = 0;
  double waiting = 0;                  ///< for a turn, or for room in the SMs
  double crowded = 0;                  ///< that kernels ran longer, for bandwidth and caches
  std::vector<double> latencies = {};  ///< s, of requests: from their arrival until they are answered
};

/// Kernels of all players in the SMs at once, until speeds are known with a standard error of `enough`. The
/// hardware hands out the blocks of kernels in the order in which they came; who comes later gets what is
/// left, and waits where nothing is (docs/beside.md).
[[nodiscard]] std::vector<Played> play_together(std::span<const Player> players,
                                                const SharingFigures& figures, double enough);

/// One player has the whole GPU at a time, for a slice or until it has nothing to run.
[[nodiscard]] std::vector<Played> play_in_turns(std::span<const Player> players,
                                                const SharingFigures& figures);

}  // namespace plimsoll::share
