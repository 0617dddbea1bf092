#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "job/fields.hpp"
#include "run/attempt.hpp"
#include "run/session.hpp"

namespace plimsoll::running {

// What a supervisor and those who talk to it say to each other: JSON objects, one a line, each with a `type`.
//
// To the supervisor: order (first, by the one who starts it), signal {number}, stop {run}, kill {run}, attach
// {run} with two descriptors. From it: hello {supervisor}, say, warn {text}, started {job, run, spec}, ended
// {…}, failed {error}, finished {…}; and of an attempt saved {run, text, at}, progress {run, …} (Progress).

/// What a supervisor is started for: the jobs of one workload.
struct Order {
  std::vector<JobSpec> jobs = {};
  SessionOptions options = {};
  std::string mlflow_uri = {};  ///< the runs are sent there, too
  bool no_mlflow = false;       ///< no server for the commands
  bool quiet = false;
  std::optional<Attempt> attempt = {};  ///< the queue's daemon gives it; then of one job, tried once
};

[[nodiscard]] job::Json order_json(const Order& order);
[[nodiscard]] Result<Order> read_order(const job::Json& message);

[[nodiscard]] job::Json ended_json(const Ended& ended);
[[nodiscard]] Result<Ended> read_ended(const job::Json& message);

/// With its `type`.
[[nodiscard]] job::Json progress_json(const Progress& progress);
[[nodiscard]] Result<Progress> read_progress(const job::Json& message);

[[nodiscard]] job::Json error_json(const Error& error);
[[nodiscard]] Error read_error(const job::Json& message);

/// Nothing that is said is longer; an order of the most jobs that a file may have is far shorter.
inline constexpr std::size_t kLongestMessage = std::size_t{256} << 20;

/// A message's text and its newline.
[[nodiscard]] std::string line_of(const job::Json& message);
/// One that was received, without its newline; bad_input where it is none.
[[nodiscard]] Result<job::Json> read_message(std::string_view line);
/// Its `type`; empty where it has none.
[[nodiscard]] std::string type_of(const job::Json& message);

}  // namespace plimsoll::running
