#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "job/fields.hpp"
#include "slurm_queue.hpp"

namespace plimsoll {

/// What stands on the command line of `plimsoll submit`.
struct SubmitOptions {
  std::vector<std::string> command = {};
  std::string file = {};
  std::string name, experiment, need, seconds, deadline, save, time_limit, save_patience, limit;
  std::vector<std::string> estimate = {}, after = {}, params = {}, tags = {}, sweeps = {}, artifacts = {},
                           patterns = {};
  double priority = 0, keep = 0, steps = 0, rate = 0;
  int gpus = 1, most_moves = 3;
  std::int64_t array = 0;
  bool alone = false, rerun = false, runs_on = false, hold = false, dry_run = false, json = false,
       quiet = false;
  SlurmOptions slurm = {};
};

/// The message that the queue's daemon takes: the jobs, one for each of an array or a sweep, and this
/// process's environment.
[[nodiscard]] Result<job::Json> submission(const SubmitOptions& options, bool dry);

}  // namespace plimsoll
