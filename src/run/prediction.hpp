#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "run/job.hpp"

namespace plimsoll::running {

/// One of several that run together on a device.
struct Companion {
  JobSpec job;
  std::string run;                            ///< its id
  std::optional<std::string> alone_run = {};  ///< of the same command, when it had the device to itself
};

/// Whether something can be said of them: each tells what it is, by its `estimate`.
[[nodiscard]] bool can_be_predicted(const std::vector<Companion>& together);

/// What `plimsoll beside` says of them, as tags of their runs, in their order:
/// plimsoll.beside.{sharing,with,speed,low,high,alone_steps_per_second,workload}. Starts programs, and waits
/// for them. `directory`: for a file that they read.
[[nodiscard]] Result<std::vector<std::map<std::string, std::string>>> predicted_together(
    const std::vector<Companion>& together, const std::string& program, const std::string& store,
    const std::filesystem::path& directory);

}  // namespace plimsoll::running
