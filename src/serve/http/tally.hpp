#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>

#include "serve/http/statistics.hpp"

namespace plimsoll::serve {

/// Counts of one server: written by its loop, read from any thread.
struct Tally {
  using Count = std::atomic<std::uint64_t>;
  Count connections = 0, connections_taken = 0, connections_refused = 0, connections_spared = 0;
  Count strangers_refused = 0;
  Count bytes_received = 0, bytes_sent = 0, timeouts = 0, latency_nanoseconds = 0;
  std::array<Count, 5> answers = {};
  std::array<Count, kLatencyBounds.size() + 1> latencies = {};

  static void add(Count& count, std::uint64_t more = 1) { count.fetch_add(more, std::memory_order_relaxed); }
  void answered(int status) { add(answers[static_cast<std::size_t>(std::clamp(status / 100, 1, 5) - 1)]); }
  void took(std::chrono::nanoseconds time) {
    const double seconds = std::chrono::duration<double>(time).count();
    const auto bound = std::ranges::lower_bound(kLatencyBounds, seconds);
    add(latencies[static_cast<std::size_t>(bound - kLatencyBounds.begin())]);
    add(latency_nanoseconds, static_cast<std::uint64_t>(time.count()));
  }
  [[nodiscard]] Statistics read() const {
    Statistics now{.connections = connections,
                   .connections_taken = connections_taken,
                   .connections_refused = connections_refused,
                   .connections_spared = connections_spared,
                   .strangers_refused = strangers_refused,
                   .bytes_received = bytes_received,
                   .bytes_sent = bytes_sent,
                   .timeouts = timeouts,
                   .latency_seconds = 1e-9 * static_cast<double>(latency_nanoseconds)};
    std::ranges::copy(answers, now.answers.begin());
    std::ranges::copy(latencies, now.latencies.begin());
    return now;
  }
};

}  // namespace plimsoll::serve
