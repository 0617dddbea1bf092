#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "store/run.hpp"

namespace plimsoll::running {

/// How a run ended, in one word.
enum class Outcome {
  finished,
  failed,
  cuda_out_of_memory,
  killed_for_memory,  ///< by the kernel
  time_limit,
  epoch_limit,
  interrupted,  ///< by the person or the machine, through Plimsoll
  lost,         ///< nobody watched its end
  refused,      ///< not started: it would not fit
};
[[nodiscard]] std::string_view name(Outcome outcome);  ///< "cuda-out-of-memory"
[[nodiscard]] std::optional<Outcome> outcome_named(std::string_view name);
[[nodiscard]] store::RunStatus status_of(Outcome outcome);

/// Why Plimsoll itself ended a run.
enum class StopCause {
  time_limit,
  epoch_limit,
  interrupted,  ///< by a person, a scheduler or a client of the supervisor
  lease,        ///< nobody says any longer that it may run
};
[[nodiscard]] std::string_view name(StopCause cause);  ///< "time-limit"
[[nodiscard]] std::optional<StopCause> stop_cause_named(std::string_view name);

/// What is known when the last process of a run has ended.
struct Evidence {
  int exit_code = 0;  ///< meaningful only where signal is 0
  int signal = 0;
  std::optional<StopCause> stopped = {};  ///< Plimsoll sent the signals
  bool kernel_killed = false;     ///< the cgroup's or the kernel's count of memory kills grew meanwhile
  bool mps_daemon_ended = false;  ///< while the run was its client
  std::string output_tail = {};   ///< the last lines of both streams
};

/// How it ended, and why.
struct Ending {
  Outcome outcome = Outcome::finished;
  std::string reason = {};  ///< the last lines that say why; empty where it finished
  bool gpu_fault =
      false;  ///< it failed, and its output tells of a fault on the GPU, its own or a neighbour's
};

/// By evidence rather than by exit code alone. A command that finds no GPU memory, catches that and ends well
/// has finished; one that exits with 1 after such a message ran out of memory.
[[nodiscard]] Ending judge(const Evidence& evidence);

}  // namespace plimsoll::running
