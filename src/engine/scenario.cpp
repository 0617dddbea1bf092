// Queries as MLPerf Inference's load generator sends them. Every pass runs the whole batch: a query of fewer
// samples than the batch, and the last pass of an offline run, is padded.
#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

#include "engine/timing.hpp"

namespace plimsoll::engine {
namespace {

using Clock = std::chrono::steady_clock;
using Duration = std::chrono::duration<double>;

constexpr std::int64_t kMostQueries = 1'000'000;

struct Running {
  Device& device;
  const Pass& pass;
  const job::Protocol& protocol;
  std::int64_t batch;
  const Emit& emit;
  Clock::time_point begin = Clock::now();
  Clock::time_point told = {};
  job::Latencies result = {};

  [[nodiscard]] double now() const { return Duration(Clock::now() - begin).count(); }
  [[nodiscard]] bool more(std::int64_t sent) const {
    const std::int64_t wanted = protocol.scenario.queries > 0 ? protocol.scenario.queries : kMostQueries;
    return sent < wanted && (now() < protocol.seconds || protocol.scenario.queries > 0);
  }
  void run(std::int64_t samples) {
    for (std::int64_t left = samples; left > 0; left -= batch) {
      pass();
      ++result.passes;
    }
    device.synchronize();
    result.samples += samples;
  }
  void tell(double done) {
    if (Clock::now() - told < std::chrono::milliseconds(500)) return;
    told = Clock::now();
    emit(job::Progress{.phase = "scenario", .done = std::clamp(done, 0.0, 1.0), .seconds_left = {}});
  }
  [[nodiscard]] double done(std::int64_t sent) const {
    return protocol.scenario.queries > 0
               ? static_cast<double>(sent) / static_cast<double>(protocol.scenario.queries)
               : now() / protocol.seconds;
  }
};

/// One query after the other, each sent when the last is answered.
void stream(Running& r, std::int64_t samples) {
  for (std::int64_t sent = 0; r.more(sent); ++sent) {
    const double scheduled = r.now();
    r.run(samples);
    r.result.seconds.push_back(r.now() - scheduled);
    r.tell(r.done(sent));
  }
}

/// Queries of one sample at times drawn beforehand; those that wait when the device is free go together, a
/// batch at most.
void serve(Running& r, double per_second, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::exponential_distribution<double> gap(per_second);
  std::vector<double> scheduled;
  const std::int64_t wanted = r.protocol.scenario.queries;
  for (double t = gap(random);; t += gap(random)) {
    const auto count = static_cast<std::int64_t>(scheduled.size());
    if (wanted > 0 ? count >= wanted : t >= r.protocol.seconds || count >= kMostQueries) break;
    scheduled.push_back(t);
  }
  r.begin = Clock::now();
  for (std::size_t next = 0; next < scheduled.size();) {
    if (const double wait = scheduled[next] - r.now(); wait > 0) {
      if (wait > 0.001) std::this_thread::sleep_for(Duration(wait - 0.0005));
      while (r.now() < scheduled[next]) {
      }
    }
    std::size_t end = next;
    const double now = r.now();
    while (end < scheduled.size() && scheduled[end] <= now && end - next < static_cast<std::size_t>(r.batch))
      ++end;
    r.run(static_cast<std::int64_t>(end - next));
    for (const double answered = r.now(); next < end; ++next)
      r.result.seconds.push_back(answered - scheduled[next]);
    r.tell(static_cast<double>(next) / static_cast<double>(scheduled.size()));
  }
}

/// All samples are there from the beginning.
void all_at_once(Running& r, std::int64_t samples) {
  const std::int64_t between = 16;  // passes; for progress
  for (std::int64_t left = samples; left > 0;) {
    const std::int64_t part = std::min(left, r.batch * between);
    r.run(part);
    left -= part;
    r.tell(1 - static_cast<double>(left) / static_cast<double>(samples));
  }
  r.result.seconds.push_back(r.now());
}

}  // namespace

job::Latencies run_scenario(Device& device, const Pass& pass, const job::Protocol& protocol,
                            std::int64_t batch, std::uint64_t seed, const Emit& emit) {
  const job::Scenario& scenario = protocol.scenario;
  device.synchronize();
  Running running{device, pass, protocol, std::max<std::int64_t>(1, batch), emit};
  switch (scenario.arrival) {
    case job::Arrival::single_stream: stream(running, 1); break;
    case job::Arrival::multi_stream: stream(running, scenario.samples_per_query); break;
    case job::Arrival::server: serve(running, scenario.queries_per_second, seed); break;
    case job::Arrival::offline: all_at_once(running, std::max<std::int64_t>(1, scenario.samples)); break;
    case job::Arrival::none: break;
  }
  running.result.elapsed = running.now();
  return std::move(running.result);
}

}  // namespace plimsoll::engine
