#pragma once
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "run/admission.hpp"
#include "run/errands.hpp"
#include "run/job_hardware.hpp"
#include "run/launch.hpp"
#include "run/mps.hpp"
#include "run/services.hpp"

namespace plimsoll::running {

/// Jobs on their way to their start. Each waits for its turn: for others of its workload, and for a time.
/// What has to be known of it then (its need, its limits, whether there is room) and its record are found out
/// and made beside the loop, one thing after the other, the jobs at the same time.
class Preparation {
 public:
  using Clock = std::chrono::steady_clock;
  /// What all of it works with; outlives it.
  struct Setting {
    const std::vector<JobSpec>& jobs;
    const SessionOptions& options;
    const Services& services;
    Errands& errands;
    std::filesystem::path directory;  ///< the supervisor's, for promises
    std::function<void(const std::string&)> say;
    std::function<void(const Record&, const Provenance&)> add_later;
  };
  struct Prepared {
    Launch launch;
    Record record;
  };
  struct Refused {
    std::size_t job = 0;
    Outcome outcome = Outcome::refused;
    std::string reason;
  };

  explicit Preparation(Setting setting) : setting_(std::move(setting)) {}
  void open(std::shared_ptr<store::Store> store, std::shared_ptr<const JobHardware> hardware);

  /// Jobs that run together, and start as each one's turn comes; `retry`: at once; `daemon`: whose clients
  /// they are, or null.
  void begin(const std::vector<std::size_t>& jobs, bool retry, std::shared_ptr<MpsDaemon> daemon);
  void note_daemon_answers() { daemon_answers_ = true; }
  /// None of those that wait will start.
  void refuse_all(const std::string& reason);
  /// Nor these, and nobody is told: someone ended all. What has a record already ends it.
  void stop();

  void proceed(Clock::time_point now);
  [[nodiscard]] bool is_empty() const { return candidates_.empty(); }
  /// When proceed() should be called again even where nothing happens.
  [[nodiscard]] Clock::time_point next(Clock::time_point latest) const;
  [[nodiscard]] std::vector<Prepared> take_prepared() { return std::exchange(prepared_, {}); }
  [[nodiscard]] std::vector<Refused> take_refused() { return std::exchange(refused_, {}); }
  /// The command runs: what was promised to the job is its run's.
  void note_started(const Launch& launch, const Record& record, pid_t pid);
  void note_ended(const Launch& launch, const Record& record);

 private:
  enum class Stage {
    turn,    ///< whether others have ended, and its time has come
    need,    ///< how much GPU memory it takes
    limits,  ///< what MPS gives it
    room,    ///< whether there is so much
    record,  ///< its run in the store
  };
  /// What git says of a directory, when it has answered.
  struct Revision {
    Clock::time_point asked = {};
    std::optional<Provenance> found = {};
    std::vector<Record> without = {};  ///< records that were made before it answered
  };
  struct Candidate {
    Launch launch;
    Stage stage = Stage::turn;
    std::vector<std::size_t> awaited = {};  ///< jobs that must have ended; the last may have by now
    Clock::time_point starts = {};          ///< at the earliest
    bool asked = false;                     ///< an errand of this stage is under way
    bool estimated = false;
    bool told_waiting = false;
    Clock::time_point again = {};  ///< when room is looked for again
    std::shared_ptr<Revision> git = {};
    Clock::time_point git_by = {};
  };
  using Asking = std::shared_ptr<Candidate>;

  template <class Answer>
  void ask(const Asking& candidate, std::string_view lane, std::string what, std::function<Answer()> work,
           std::function<void(const Asking&, Answer&)> then);
  void advance(const Asking& candidate, Clock::time_point now);
  void wait_for_turn(const Asking& candidate, Clock::time_point now);
  [[nodiscard]] std::string told_turn(const Asking& candidate, Clock::time_point now) const;
  void find_need(const Asking& candidate);
  void find_limits(const Asking& candidate);
  void find_room(const Asking& candidate, Clock::time_point now);
  void take_admission(const Asking& candidate, const Result<Admission>& admission);
  void make_record(const Asking& candidate, Clock::time_point now);
  void take_record(const Asking& candidate, Result<Record>& record);
  [[nodiscard]] std::shared_ptr<Revision> ask_git(const JobSpec& of, Clock::time_point now);
  void refuse(const Asking& candidate, Outcome outcome, std::string reason);
  [[nodiscard]] const JobSpec& job(const Asking& candidate) const {
    return setting_.jobs[candidate->launch.job];
  }

  Setting setting_;
  std::shared_ptr<store::Store> store_;
  std::shared_ptr<const JobHardware> hardware_;
  std::shared_ptr<MpsDaemon> daemon_;
  bool daemon_answers_ = false;
  bool stopping_ = false;
  std::vector<Asking> candidates_;
  std::vector<Asking> leaving_;  // whose records are being made, and whom nobody starts any more
  std::vector<Prepared> prepared_;
  std::vector<Refused> refused_;
  std::map<std::string, Result<std::string>> proven_;               // limits, by the variables that set them
  std::map<std::filesystem::path, std::shared_ptr<Revision>> git_;  // by directory: asked the last time
  std::vector<bool> ended_;                                         // by job
};

}  // namespace plimsoll::running
