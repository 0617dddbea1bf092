#pragma once
#include <chrono>
#include <functional>
#include <memory>

#include "base/file_descriptor.hpp"

namespace plimsoll::serve {

/// Runs, on one thread, what becomes due: sockets that are ready, tasks, a tick. All but post() and stop()
/// belongs to that thread, or to the time before run().
class Loop {
 public:
  Loop();
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void run();                                       ///< until stop()
  void stop();                                      ///< from any thread
  void post(std::move_only_function<void()> task);  ///< from any thread
  /// Calls `task` every `interval` for as long as it says so.
  void repeat(std::chrono::milliseconds interval, std::function<bool()> task);

 private:
  friend class Channel;
  class State;
  std::unique_ptr<State> state_;
};

/// A descriptor that does not block, and the wait for it to be ready: at most one for reading and one for
/// writing at a time.
class Channel {
 public:
  Channel(Loop& loop, FileDescriptor descriptor);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  [[nodiscard]] int descriptor() const;  ///< -1 once closed
  /// Calls `ready` once, later. After close() it is let go, unless it was already due.
  void when_readable(std::function<void()> ready);
  void when_writable(std::function<void()> ready);
  void close();

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace plimsoll::serve
