#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

namespace plimsoll::serve {

/// Upper ends of the histogram's buckets, in seconds; one more bucket has no end.
inline constexpr std::array<double, 14> kLatencyBounds = {0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01,
                                                          0.02,   0.05,   0.1,    0.2,   0.5,   1,     5};

/// What a server has done since its start.
struct Statistics {
  std::uint64_t connections = 0;              ///< now open
  std::uint64_t connections_taken = 0;        ///< in all
  std::uint64_t connections_refused = 0;      ///< for want of room
  std::uint64_t connections_spared = 0;       ///< closed to make room for others
  std::uint64_t strangers_refused = 0;        ///< connections of other users of this machine
  std::uint64_t requests_waiting = 0;         ///< now, for a worker
  std::array<std::uint64_t, 5> answers = {};  ///< by class of status: 1xx to 5xx
  std::uint64_t bytes_received = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t timeouts = 0;  ///< connections closed because a client was too slow
  /// From the whole request having been read to its answer being at hand, each count by itself (not
  /// cumulative, as Prometheus wants them).
  std::array<std::uint64_t, kLatencyBounds.size() + 1> latencies = {};
  double latency_seconds = 0;  ///< sum
};

}  // namespace plimsoll::serve
