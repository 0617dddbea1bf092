#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "run/job.hpp"

namespace plimsoll::running {

/// Puts files that the command left into the run's artifacts, by their names; what cannot be kept is told.
/// When it returns, what is kept is on the disk. Those of the job (`--artifact`) may lie anywhere. Those that
/// the command itself has `named` lie below its directory, also where a symbolic link leads: what it prints
/// may be somebody else's words.
[[nodiscard]] std::vector<std::string> keep_files(const JobSpec& job, const std::vector<std::string>& named,
                                                  const std::filesystem::path& artifacts);

/// Brings the names in a directory to the disk; false, with errno, where that fails.
[[nodiscard]] bool flush_entries(const std::filesystem::path& directory);

/// How a named file is opened where the kernel has no openat2, or a sandbox forbids it: no link is followed
/// at all. A descriptor, or -1 with errno: EXDEV where the path leads out of the directory.
[[nodiscard]] int open_without_links(int directory, const std::filesystem::path& path);

}  // namespace plimsoll::running
