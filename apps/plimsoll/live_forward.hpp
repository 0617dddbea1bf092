#pragma once
#include <functional>
#include <memory>
#include <string>

#include "forward/server_address.hpp"
#include "interruption.hpp"

namespace plimsoll {

/// Brings the runs of one `plimsoll run` to an MLflow server while they go on, from a thread of its own with
/// a store of its own: whatever the server does, the commands notice nothing. What is not sent is in the
/// store.
class LiveForward {
 public:
  struct Options {
    forward::ServerAddress server;
    std::string store = {};                             ///< as store::open takes it
    std::function<void(const std::string&)> say = {};   ///< a line for the person; may be empty
    std::function<void(const std::string&)> warn = {};  ///< one that must be said
  };
  explicit LiveForward(Options options);
  LiveForward(const LiveForward&) = delete;
  LiveForward& operator=(const LiveForward&) = delete;
  ~LiveForward();

  /// A run that is now in the store. Naming it again does nothing.
  void add(const std::string& run);
  /// Its command has ended: what it says of its own end holds now. Until then it is sent on, whatever its
  /// status, as a script may end its MLflow run and work on.
  void ended(const std::string& run);
  /// After the commands' end: sends the rest for some seconds at most, which an interruption ends, and says
  /// what is left and how to send it later.
  void finish(Interruption& interruption);

 private:
  struct State;
  void stop();
  std::shared_ptr<State> state_;  // shared with the thread, which may be left alone when it hangs
};

}  // namespace plimsoll
