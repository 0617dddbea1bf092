#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace plimsoll::running {

/// A process beyond its number, which another may get: with the moment of its start, and the machine's boot.
struct ProcessIdentity {
  pid_t pid = 0;
  std::uint64_t start = 0;  ///< clock ticks after boot
  std::string boot = {};    ///< boot_id, and the namespace in which the number counts
  friend bool operator==(const ProcessIdentity&, const ProcessIdentity&) = default;

  [[nodiscard]] std::string text() const;  ///< "4242 918273 0f3a…"
  [[nodiscard]] static std::optional<ProcessIdentity> parse(std::string_view text);
  /// The process that has this number now; nothing where there is none.
  [[nodiscard]] static std::optional<ProcessIdentity> of(pid_t pid,
                                                         const std::filesystem::path& proc = "/proc");
  /// Of this boot, but numbered in another container: nothing can be told of it from here.
  [[nodiscard]] bool is_elsewhere(const std::filesystem::path& proc = "/proc") const;
  [[nodiscard]] bool lives(const std::filesystem::path& proc = "/proc") const;
};

/// Processes that carry `variable` ("NAME=value") in the environment they were started with, even where they
/// left the run's group and tree; and, where `group` is given, the members of that process group, even where
/// they emptied their environment.
[[nodiscard]] std::vector<ProcessIdentity> processes_with(std::string_view variable, pid_t group = 0,
                                                          const std::filesystem::path& proc = "/proc");

}  // namespace plimsoll::running
