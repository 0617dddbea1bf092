#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "telemetry/sampler.hpp"

namespace plimsoll::telemetry {

/// A Sampler in a thread of its own. It never waits for the one who takes the frames: where nobody took them
/// for long, the oldest are dropped and counted, and the gap is told.
class SamplingThread {
 public:
  struct Gap {
    std::int64_t from = 0;  ///< the last frame before it
    std::int64_t to = 0;    ///< the first after it
    bool dropped = false;   ///< read but not taken in time; else not read, the thread came late
  };
  struct Taken {
    std::vector<Series> new_series;  ///< to be appended to those known before
    std::vector<Frame> frames;
    std::vector<Gap> gaps;
  };
  struct Cost {
    std::uint64_t frames = 0;
    double cpu_seconds = 0;  ///< of the thread
  };

  /// By the thread itself, of each frame as it is read, with all series so far: for what must not wait until
  /// frames are taken. Holds up the sampling.
  using Seen = std::function<void(const Frame&, const std::vector<Series>&)>;

  /// `capacity`: frames kept while nobody takes them.
  SamplingThread(Sampler sampler, double rate, std::size_t capacity = 6000, Seen seen = {});
  ~SamplingThread();  ///< stops and joins
  SamplingThread(const SamplingThread&) = delete;
  SamplingThread& operator=(const SamplingThread&) = delete;

  // What is told to the sampler is done by its thread, in that order: nobody waits for a driver that does not
  // answer.
  void watch(const Watched& watched);
  void adopt(int run, pid_t orphan);
  void forget(int run);  ///< the next frame still has its last values
  void weigh(int run, unsigned gpu, std::optional<double> weight);
  void ignore(pid_t server);
  [[nodiscard]] Taken take();
  [[nodiscard]] Cost cost() const;
  void stop();  ///< after one last frame, so that the end of a run is seen

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace plimsoll::telemetry
