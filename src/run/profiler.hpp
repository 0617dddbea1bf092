#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace plimsoll::running {

/// A profiler that wraps a command and leaves its report among the run's artifacts.
enum class Profiler { none, nsys, ncu, torch };
[[nodiscard]] Result<Profiler> parse_profiler(std::string_view name);

/// Whether it can wrap this command here: the program is installed; for torch, the command is Python with a
/// script or a module. Says what is missing.
[[nodiscard]] Status check_profiler(Profiler profiler, const std::vector<std::string>& command);

/// The command, wrapped. `artifacts`: an absolute folder, where the report goes.
[[nodiscard]] std::vector<std::string> profiled(Profiler profiler, const std::vector<std::string>& command,
                                                const std::filesystem::path& artifacts);

}  // namespace plimsoll::running
