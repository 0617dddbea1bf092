#pragma once
#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace plimsoll::running {

/// A process as far as it tells to which run it belongs.
struct ProcessEntry {
  pid_t parent = 0;
  std::string cgroup = {};  ///< path of its control group; "/" is the whole machine's
  std::string run = {};     ///< PLIMSOLL_RUN_ID in the environment it was started with
  friend bool operator==(const ProcessEntry&, const ProcessEntry&) = default;
};
using ProcessTable = std::map<pid_t, ProcessEntry>;

/// All processes that can be seen now; what one hides (another user's environment) is empty.
[[nodiscard]] ProcessTable read_process_table(const std::filesystem::path& root = "/");

/// The processes of a run: those that carry its mark, those that descend from its first process, and those
/// that share a control group with one of these (a container's, a service's), unless that is the group of
/// `watcher`, or one around it. A command may be a shell, torchrun, a profiler or a container's client: the
/// process that takes GPU memory is seldom the first. `first` is 0 where nobody knows it.
[[nodiscard]] std::set<pid_t> processes_of(const ProcessTable& table, std::string_view run, pid_t first,
                                           pid_t watcher);

/// The same, now, seen from this process.
[[nodiscard]] std::set<pid_t> processes_of(std::string_view run, pid_t first,
                                           const std::filesystem::path& root = "/");

/// A run, and the process that began it where that is known.
struct KnownRun {
  std::string id;
  pid_t first = 0;
};
/// To which run each process belongs, of those known and those that a mark names. A process within two (one
/// run started another) is of the one whose mark it carries.
[[nodiscard]] std::map<pid_t, std::string> runs_by_process(const ProcessTable& table,
                                                           std::span<const KnownRun> known, pid_t watcher);

}  // namespace plimsoll::running
