#pragma once
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "run/job.hpp"
#include "run/profiler.hpp"
#include "run/watch.hpp"

namespace plimsoll::running {

struct HeldAttempt;  // run/attempt_folder.hpp
struct Saved;

struct SessionOptions {
  std::string store = {};  ///< as store::open takes it
  double rate = 10;        ///< samples a second
  WatchOptions watch = {};
  bool retry_out_of_memory = false;  ///< once more, alone
  bool wait = true;                  ///< for room on the GPU; else a job without room is refused
  bool show_output = false;          ///< the commands' output on the caller's own streams
  bool output_to_error = false;      ///< all of it on standard error
  bool inherit_input = false;
  Profiler profiler = Profiler::none;
  std::vector<std::string> recorded_variables = {};
  /// More for the environment of a run's command; empty: nothing more.
  std::function<Variables(const std::string& run)> variables_of = {};
  /// The queue tries a job once, and has admitted it; none: somebody runs it. Shared with what writes its
  /// files beside the loop, and may hang.
  std::shared_ptr<const HeldAttempt> attempt = {};
  std::string program = "/proc/self/exe";  ///< that answers `cuda-facts` and `estimate`
};

/// How one job ended.
struct Ended {
  std::size_t job = 0;  ///< its place in the list that was given
  std::string run = {};
  Outcome outcome = Outcome::finished;
  std::string reason = {};
  int exit_code = 0;
  int signal = 0;
  Seconds elapsed = {};
  bool retried = false;                      ///< ran out of memory the first time; this is the second
  std::optional<Error> unkept = {};          ///< the store did not take the end of the record
  std::uint64_t metrics_lost = 0;            ///< of the command, that never came into the store
  std::optional<StopCause> stopped = {};     ///< Plimsoll ended it, and why
  bool gpu_fault = false;                    ///< its last lines tell of a fault on the GPU
  std::optional<Bytes> peak_gpu_bytes = {};  ///< the most that it held on one GPU, as sampled
};

/// How far a run has come, and what it takes of its GPU; what is not known is absent.
struct Progress {
  std::string run = {};
  std::optional<std::int64_t> step = {};   ///< the largest of its metrics so far
  std::optional<double> at = {};           ///< when that came, in seconds since 1970
  std::optional<std::int64_t> epoch = {};  ///< the last that has ended
  std::optional<Bytes> gpu_bytes = {};     ///< that it holds now on the GPU where it holds most
  std::optional<double> sm_activity = {};  ///< of that GPU, its own part, 0 to 1
  // Of that whole GPU:
  std::optional<double> gpu_sm_activity = {};
  std::optional<double> gpu_dram_activity = {};
  std::optional<double> gpu_watts = {};
  friend bool operator==(const Progress&, const Progress&) = default;
};

/// Who wants to know while it goes on.
struct Listener {
  std::function<void(const std::string&)> say = {};   ///< a line for the person
  std::function<void(const std::string&)> warn = {};  ///< one that must not be left out
  std::function<void(std::size_t job, const std::string& run)> started = {};
  std::function<void(const Ended&)> ended = {};
  std::function<void(const std::string& run, const Saved&)> saved = {};  ///< of an attempt, as the next
  std::function<void(const Progress&)> progress = {};                    ///< at most every half second
};

struct SessionResult {
  std::vector<Ended> ended = {};
  bool interrupted = false;
  double sampler_cpu_seconds = 0;
  std::uint64_t frames = 0;
  bool hangs = false;  ///< something did not answer to the end, and is left to the end of the process
};

struct Order;  // run/supervision.hpp

/// Runs jobs, those of one workload together under a supervisor of their own, workloads on the same device
/// one after the other and on different devices at once. Fails only where nothing could be begun; how the
/// jobs ended is the result. Takes over this process's signals while it lasts, and passes them on; the
/// supervisors outlive it.
///
/// `adopted`: jobs that an earlier session began, and that go on or wait for their turn; with all of their
/// workload they are followed to their end instead of being started. What their supervisor knows nothing of
/// is started when it has ended.
using Adopted = std::map<std::size_t, std::filesystem::path>;  // by job: its supervisor's socket
[[nodiscard]] Result<SessionResult> run_session(const Order& order, const Listener& listener,
                                                const Adopted& adopted = {});

}  // namespace plimsoll::running
