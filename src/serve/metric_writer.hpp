#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "store/store.hpp"

namespace plimsoll::serve {

/// Brings metrics into the store by group commit: while one commit is under way the next requests gather, and
/// go in together. A request is answered only after its commit; one that the store refuses does not hurt
/// those that came with it.
class MetricWriter {
 public:
  using Done = std::move_only_function<void(Status)>;
  struct Options {
    std::size_t most_waiting = 2'000'000;  ///< points; more are not taken
    std::size_t most_at_once = 100'000;    ///< points of one commit, where there is more than one request
  };
  struct Statistics {
    std::uint64_t points = 0;   ///< committed since the start
    std::uint64_t commits = 0;  ///< that brought them in
    std::uint64_t refused = 0;  ///< requests that the store refused, or for which there was no room
    std::size_t waiting = 0;    ///< points, now
  };

  /// `store` outlives the writer.
  explicit MetricWriter(store::Store& store) : MetricWriter(store, Options()) {}
  MetricWriter(store::Store& store, Options options);
  ~MetricWriter();  ///< what waits is brought in first
  MetricWriter(const MetricWriter&) = delete;
  MetricWriter& operator=(const MetricWriter&) = delete;

  /// Calls `done` once, on the writer's thread, or here at once where there is no room (unavailable).
  void submit(std::vector<store::Batch> batches, Done done);
  [[nodiscard]] Statistics statistics() const;

 private:
  struct Entry {
    std::vector<store::Batch> batches;
    std::size_t points = 0;
    Done done;
  };
  void work();
  [[nodiscard]] std::vector<Entry> gather();
  void commit(std::vector<Entry> entries);

  store::Store& store_;
  Options options_;
  mutable std::mutex mutex_;
  std::condition_variable news_;
  std::deque<Entry> waiting_;
  Statistics statistics_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace plimsoll::serve
