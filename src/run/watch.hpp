#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "run/child.hpp"
#include "run/control.hpp"
#include "run/errands.hpp"
#include "run/job.hpp"
#include "run/log_writer.hpp"
#include "run/metric_socket.hpp"
#include "run/outcome.hpp"
#include "run/output_stream.hpp"
#include "run/recorder.hpp"

namespace plimsoll::running {

/// What becomes of processes that a command leaves behind when it ends.
enum class Orphans {
  wait,   ///< the run goes on until the last has ended: the command put its work into the background
  end,    ///< they are ended, politely, then firmly
  leave,  ///< nobody watches them any longer
};

/// What becomes of a command when the process that watches it is killed.
enum class IfKilled {
  end,    ///< the kernel ends it, politely; the next start of a run ends it firmly
  leave,  ///< it runs on, unwatched; its output goes into its log
};

struct WatchOptions {
  std::chrono::milliseconds grace = std::chrono::seconds(10);  ///< between asking to end and ending
  Orphans orphans = Orphans::wait;
  IfKilled if_killed = IfKilled::end;
  std::uint64_t log_limit = std::uint64_t{64} << 20;
};

/// One command from its start to the end of its last process: its streams, its metrics, its limits.
class Watch {
 public:
  using Clock = std::chrono::steady_clock;
  struct Place {
    int number = 0;  ///< by which recorder and sampler know the run
    std::string id;  ///< by which the store does
    std::filesystem::path artifacts;
    std::filesystem::path socket;
    Variables variables = {};   ///< for its environment, beside the job's own
    Passage* output = nullptr;  ///< null: shown to nobody
    Passage* error = nullptr;
    bool inherit_input = false;
  };

  [[nodiscard]] static Result<std::unique_ptr<Watch>> start(const JobSpec& job, const WatchOptions& options,
                                                            Place place, Recorder& recorder,
                                                            Errands& errands);
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  [[nodiscard]] const JobSpec& job() const { return job_; }
  [[nodiscard]] const Place& place() const { return place_; }
  [[nodiscard]] pid_t pid() const { return child_.pid(); }

  void collect(Interests& interests);
  /// Tells those who wait on the socket what has come into the store.
  void acknowledge();
  /// Looks at clock, limits and processes. True once all has ended.
  [[nodiscard]] bool proceed(Clock::time_point now);
  /// When proceed() should be called again even where nothing is ready.
  [[nodiscard]] Clock::time_point next(Clock::time_point now) const;
  /// Passes a signal on; what ends programs makes the outcome `interrupted`.
  void pass_signal(int signal);
  void stop(StopCause cause, int signal, Clock::time_point now);
  /// One that was stopped is killed by then at the latest.
  void hasten(Clock::time_point kill_at);
  void kill();
  void note_daemon_ended() { daemon_ended_ = true; }

  /// Its output goes to one more, from the last of what there was on.
  void add_viewer(Control::Viewer viewer);
  void remove_viewer(int number);
  /// Nobody who looks on has still to be given anything.
  [[nodiscard]] bool viewers_are_served() const;
  /// The one who was shown the output has gone.
  void show_nobody() { place_.output = place_.error = nullptr; }

  /// How far its metrics say that it has come.
  struct Reached {
    std::optional<std::int64_t> step = {};  ///< the largest
    store::Time at = 0;                     ///< when that came
    std::optional<std::int64_t> epoch = {};
  };
  [[nodiscard]] const Reached& reached() const { return reached_; }
  /// What it last said that it has saved, since the last call.
  [[nodiscard]] std::optional<std::string> take_saved() { return std::exchange(saved_, {}); }

  /// After the end.
  [[nodiscard]] Evidence evidence() const;
  [[nodiscard]] const std::map<std::string, std::string>& params() const { return params_; }
  [[nodiscard]] const std::vector<std::string>& artifacts() const { return artifacts_; }
  [[nodiscard]] bool log_is_finished() const { return !log_ || log_->is_finished(); }
  [[nodiscard]] bool log_failed() const { return log_ && log_->failed(); }
  [[nodiscard]] std::uint64_t metrics() const { return metrics_; }
  [[nodiscard]] std::uint64_t metrics_dropped() const { return metrics_dropped_; }
  /// Metrics in the output that could not be read, and what was wrong with the first.
  [[nodiscard]] std::uint64_t metrics_unreadable() const { return metrics_unreadable_; }
  [[nodiscard]] const std::string& first_unreadable() const { return first_unreadable_; }
  /// Processes of the run that live although the command has ended; adopted by the caller's sampler.
  [[nodiscard]] std::vector<pid_t> take_orphans();

 private:
  /// Where the output is passed on to one who looks on.
  struct Outlet {
    explicit Outlet(Control::Viewer viewer)
        : number(viewer.number),
          output_end(std::move(viewer.output)),
          error_end(std::move(viewer.error)),
          output(output_end.get()),
          error(error_end.get()) {}
    int number;
    FileDescriptor output_end;
    FileDescriptor error_end;
    Passage output;
    Passage error;
  };
  Watch(JobSpec job, const WatchOptions& options, Place place, Recorder& recorder, Child child,
        MetricSocket socket, std::vector<MetricPattern> patterns);
  void take_text(std::string_view text, bool is_error);
  [[nodiscard]] bool follows_file() const { return options_.if_killed == IfKilled::leave; }
  void take_line(std::string_view line);
  std::uint64_t take_statement(const Statement& statement, const store::Description& description);
  std::uint64_t take_metric(const MetricLine& line, const store::Description& description);
  void see_epoch(std::int64_t epoch);
  void collect_stream(Interests& interests, OutputStream& stream, Passage* passage);
  bool look_for_orphans(Clock::time_point now);
  [[nodiscard]] std::string mark() const;

  JobSpec job_;
  WatchOptions options_;
  Place place_;
  Recorder& recorder_;
  Child child_;
  std::vector<MetricPattern> patterns_;
  std::optional<LogWriter> log_;  // none where the command writes it itself
  std::list<std::unique_ptr<Outlet>> viewers_;
  Tail tail_;
  OutputStream output_;
  OutputStream error_;
  MetricSocket socket_;

  Clock::time_point started_;
  std::optional<StopCause> stopped_;
  std::optional<Clock::time_point> kill_at_;
  bool killed_ = false;
  bool leader_ended_ = false;
  bool daemon_ended_ = false;
  bool is_over_ = false;
  int interrupts_ = 0;
  Clock::time_point next_look_ = {};
  Clock::time_point next_read_ = {};
  std::vector<pid_t> orphans_;
  std::vector<pid_t> new_orphans_;
  std::map<std::string, std::string> params_;
  std::vector<std::string> artifacts_;
  std::uint64_t metrics_ = 0;
  std::uint64_t metrics_dropped_ = 0;
  std::uint64_t metrics_unreadable_ = 0;
  std::string first_unreadable_;
  std::int64_t last_step_ = 0;
  Reached reached_;
  std::optional<std::string> saved_;
  std::int64_t kernel_kills_before_ = 0;
};

/// How often the kernel has killed for memory: in this process's cgroup where that says so, else on the
/// machine; 0 where neither is told.
[[nodiscard]] std::int64_t kernel_memory_kills(const std::filesystem::path& proc = "/proc",
                                               const std::filesystem::path& sys = "/sys");

}  // namespace plimsoll::running
