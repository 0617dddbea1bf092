#pragma once
#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "run/attempt_folder.hpp"
#include "run/errands.hpp"
#include "run/gpu_use.hpp"
#include "run/lease.hpp"
#include "run/watch.hpp"

namespace plimsoll::running {

/// A supervisor's loop and the attempt that it carries out: what is written into the folder, beside the loop
/// and before it is told; the lease; how far the run has come. A disk that takes nothing is warned of, and
/// stops nothing but a start.
class AttemptKeeping {
 public:
  using Clock = std::chrono::steady_clock;
  /// What it works with; outlives it.
  struct Setting {
    std::shared_ptr<const HeldAttempt> held;
    Errands& errands;
    const Listener& listener;
    std::chrono::milliseconds grace;
    std::function<void(const std::string&)> warn;
  };
  explicit AttemptKeeping(Setting setting);

  /// Before the command is started: then says whether it may be.
  void begin(Began began, const std::function<void(const Status&)>& then);
  /// While it runs: its lease, what it has saved, how far it is.
  void look_after(Watch& watch, const GpuUse& use, Clock::time_point now);
  /// The command has ended. The rest of what is to be told of that comes with tell_end().
  void note_end(Watch& watch, const GpuUse& use, const Ended& ended);
  /// Told once it is written, by `tell`.
  void tell_end(Ended ended, std::function<void(Ended)> tell);
  /// What a disk that does not answer has held up is told without it.
  void tell_rest();
  /// When it should be called again even where nothing happens.
  [[nodiscard]] Clock::time_point next() const;

 private:
  struct Untold {
    Ended ended;
    std::function<void(Ended)> tell;
  };
  void look_at_lease(Clock::time_point now);
  void write_saved();
  void tell_progress(const Watch& watch, const GpuUse& use, Clock::time_point now, bool last);
  void warn_of(const Status& written);

  Setting setting_;
  std::optional<LeaseWatch> lease_;
  Clock::time_point next_look_ = {};
  bool lease_asked_ = false;
  bool lease_ended_ = false;
  std::string run_;
  std::optional<Saved> saved_;  // to be written once the one before is
  bool saving_ = false;
  std::optional<Progress> told_;
  Clock::time_point next_progress_ = {};
  std::list<std::shared_ptr<Untold>> untold_;
  bool warned_ = false;
};

}  // namespace plimsoll::running
