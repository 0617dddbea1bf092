#pragma once
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <limits>
#include <mutex>
#include <thread>
#include <vector>

namespace plimsoll::serve {

/// A few threads that do what they are given, in its order.
class Workers {
 public:
  using Task = std::move_only_function<void()>;
  explicit Workers(unsigned threads, std::size_t most_waiting = std::numeric_limits<std::size_t>::max());
  ~Workers();  ///< stop()
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// False, and the task is untouched, where as many as may wait are waiting, or after stop(). An exception
  /// of the task ends it and nothing else.
  [[nodiscard]] bool give(Task& task);
  [[nodiscard]] std::size_t waiting() const;
  /// Returns when those that run have ended; those that wait are dropped.
  void stop();

 private:
  void work();

  mutable std::mutex mutex_;
  std::condition_variable news_;
  std::deque<Task> tasks_;
  std::size_t most_waiting_;
  bool stopped_ = false;
  std::vector<std::jthread> threads_;  // last: they use all that stands above
};

}  // namespace plimsoll::serve
