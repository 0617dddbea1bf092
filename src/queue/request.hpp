#pragma once
#include <optional>
#include <string>

#include "base/error.hpp"
#include "job/fields.hpp"
#include "run/job.hpp"

namespace plimsoll::queue {

/// What is asked of the queue: a job, what is known of it, and what may be done to it. As it is submitted,
/// and as the store keeps it; what becomes of it is not part of it.
struct JobRequest {
  running::JobSpec job = {};  ///< its devices and its sharing are the queue's to choose
  /// What is known of it, as one job of `plimsoll plan` in JSON (model, batch, steps, seconds, rate,
  /// limit_ms…); empty: nothing.
  std::string known = {};
  int gpus = 1;
  bool alone = false;                   ///< nobody beside it
  double keep = 0;                      ///< of its speed alone, at least; 0: whatever is left
  std::optional<double> deadline = {};  ///< s since 1970
  std::optional<int> save = {};         ///< the signal on which it saves, answered by "plimsoll: saved …"
  Seconds save_patience{60};            ///< for that answer
  bool rerun = false;                   ///< once more where nobody saw its end, or without a save
  bool runs_on = false;                 ///< also where the store is away beyond the lease
  int most_moves = 3;
  unsigned umask = 022;
  friend bool operator==(const JobRequest&, const JobRequest&) = default;
};

[[nodiscard]] job::Json request_json(const JobRequest& request);
/// Strict: what is not known is refused.
[[nodiscard]] Result<JobRequest> read_request(const job::Json& object);

/// The number of a signal by which programs can be asked to save: SIGUSR1, USR2
[[nodiscard]] std::optional<int> signal_named(std::string_view name);
[[nodiscard]] std::string signal_name(int signal);

/// By which it is known again: equal for jobs that do the same with the same, whatever they are called.
[[nodiscard]] std::string fingerprint_of(const JobRequest& request);

}  // namespace plimsoll::queue
