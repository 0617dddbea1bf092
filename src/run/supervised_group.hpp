#pragma once
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "run/launch.hpp"
#include "run/mps.hpp"
#include "run/watch.hpp"

namespace plimsoll::running {

/// A command that was started, until its record is closed.
struct Supervised {
  std::unique_ptr<Watch> watch;
  Launch launch;
  Record record;
  Watch::Clock::time_point started = {};
  bool python_asked = false;
  bool client_asked = false;
  std::optional<Ended> ended = {};  ///< all its processes are gone; the record is being closed
  Watch::Clock::time_point ended_at = {};
  bool is_recorded = false;
  bool files_kept = false;

  [[nodiscard]] bool is_done() const {
    return ended && is_recorded && files_kept && watch->log_is_finished() && watch->viewers_are_served();
  }
};

/// Jobs that run together.
struct SupervisedGroup {
  std::vector<std::size_t> jobs = {};
  Sharing sharing = Sharing::naive;
  std::vector<ChosenDevice> devices = {};  ///< of all its jobs
  bool retry = false;
  std::size_t begun = 0;            ///< jobs that were started
  bool predicted = false;           ///< what they do to each other was asked for
  std::optional<Ended> first = {};  ///< how it ended before it is tried again

  std::shared_ptr<MpsDaemon> daemon = {};
  bool daemon_answers = false;
  bool daemon_ended = false;
  bool daemon_leaves = false;  ///< it is being stopped
  std::map<int, Supervised> running = {};

  [[nodiscard]] Supervised* find(int number) {
    const auto found = running.find(number);
    return found == running.end() ? nullptr : &found->second;
  }
};

}  // namespace plimsoll::running
