#pragma once
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "queue/learning.hpp"
#include "queue/next_step.hpp"
#include "run/attempt_folder.hpp"
#include "run/supervisor_client.hpp"

namespace plimsoll::queue {

using Clock = std::chrono::steady_clock;

/// An attempt that goes on on this machine, as its daemon sees it.
struct LiveAttempt {
  /// What is on its way with it.
  enum class Stage {
    launching,  ///< its supervisor is on its way
    running,    ///< its command was started
    unwatched,  ///< its supervisor does not talk: what its folder tells is being found out
    ended,      ///< it is over, and the store is to be told
  };
  std::int64_t job = 0;
  std::int64_t attempt = 0;  ///< of the job, as the store counts
  std::filesystem::path folder = {};
  std::vector<std::string> devices = {};  ///< UUIDs
  std::string sharing = {};               ///< alone, naive, mps
  Bytes given = {};                       ///< memory that it was admitted with
  double speed = 1, low = 0;              ///< that was promised, against alone

  Stage stage = Stage::launching;
  std::optional<running::SupervisorClient> client = {};
  std::string run = {};
  Clock::time_point since = {};  ///< its start, or when it was found again
  std::optional<Lesson> lesson = {};
  Lesson::Extent noted = {};  ///< of its lesson, when what it tells was last kept
  bool saved = false;
  std::string saved_text = {};
  std::optional<running::Progress> progress = {};

  /// It was asked to save, so that it can be moved; by then it must have answered.
  std::optional<Clock::time_point> saves_by = {};
  bool answered = false;  ///< it has saved since
  std::string moves_because = {};
  bool stop_asked = false;
  bool asked_for_time = false;  ///< to save, since the allocation's time is nearly up
  bool looking = false;         ///< an errand is under way for it
  Clock::time_point look_again = {};
  std::optional<AttemptEnd> end = {};
  bool fall_is_judged = false;
  Clock::time_point fell = {};     ///< when it ended by a fault on a shared GPU; others may follow
  Clock::time_point stepped = {};  ///< when it was last told to have done a step
  bool is_shaken = false;          ///< another beside it fell, and nobody knows whether it has fallen, too
};

/// What a job's user may have written himself, as far as it is kept: the store, which would refuse the whole,
/// takes that much. Of a run's id nothing where it can be none.
[[nodiscard]] std::string kept_words(std::string_view text);
[[nodiscard]] std::string kept_run(std::string_view id);
/// The same of how it ended.
[[nodiscard]] running::Ended kept_end(running::Ended ended);

/// Seconds since 1970.
[[nodiscard]] double unix_now();

/// The text of JSON that the store keeps of where an attempt is.
struct AttemptPlace {
  std::vector<std::string> devices = {};
  std::string sharing = {};
  Bytes given = {};
  double speed = 1, low = 0;
  std::string home = {};  ///< of the daemon: the attempt's folder is there
  Seconds lease = {};     ///< it ends so long after nobody renews it; 0: it goes on
};
[[nodiscard]] std::string place_text(const AttemptPlace& place);
[[nodiscard]] AttemptPlace read_place(std::string_view text);

}  // namespace plimsoll::queue
