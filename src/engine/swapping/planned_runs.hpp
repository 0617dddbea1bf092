#pragma once
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/units.hpp"
#include "engine/swapping/block_memory.hpp"
#include "swapping/forecast.hpp"

namespace plimsoll::engine {

/// A run that has been decided on. The lists have a place for each layer; what lies below `there` is for who
/// computes, below `computed_layers` for who moves.
struct PlannedRun {
  swapping::ModelRun of;
  std::vector<std::unique_ptr<Fence>> copied;  ///< nothing where nothing is copied for the layer
  std::vector<std::unique_ptr<Fence>> computed;
  std::size_t there = 0;            ///< layers whose copies have begun
  std::size_t computed_layers = 0;  ///< that have been given to the device
  std::optional<Seconds> began = {}, finished = {};
};

/// What the two threads of swapping tell each other: one plans and moves, one computes. Either ends the
/// other's waits when it fails.
class PlannedRuns {
 public:
  /// Of the run that waits longest to be computed; nothing once no more will come, or the other has failed.
  /// May give up after a while, so that the caller can say that it lives: then `more` is true.
  std::shared_ptr<PlannedRun> next(bool& more);
  void add(std::shared_ptr<PlannedRun> run);
  void end();

  /// The layer's copies have begun. `fence` may be null.
  void bring(PlannedRun& run, std::unique_ptr<Fence> fence);
  /// Waits until they have; false where the other has failed.
  [[nodiscard]] bool wait_there(const PlannedRun& run, std::size_t layer);

  void begin(PlannedRun& run, Seconds at);
  void finish(PlannedRun& run, Seconds at);
  /// How much later it ended than it was thought to; nothing where it has not.
  [[nodiscard]] Seconds lateness(const PlannedRun& run);
  void compute(PlannedRun& run, std::unique_ptr<Fence> fence);
  [[nodiscard]] bool wait_computed(const PlannedRun& run, std::size_t layer);
  [[nodiscard]] bool wait_begun(const PlannedRun& run);

  void fail(std::exception_ptr why);
  void rethrow();
  [[nodiscard]] bool failed();
  /// Sleeps; false where the other fails meanwhile.
  [[nodiscard]] bool sleep_until(std::chrono::steady_clock::time_point moment);

 private:
  template <class Condition>
  bool wait(Condition condition) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return failed_ || condition(); });
    return !failed_;
  }
  template <class Change>
  void tell(Change change) {
    {
      const std::scoped_lock lock(mutex_);
      change();
    }
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<PlannedRun>> waiting_;
  bool ended_ = false, failed_ = false;
  std::exception_ptr why_;
};

}  // namespace plimsoll::engine
