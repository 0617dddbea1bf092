#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace plimsoll::running {

/// Where numbers of processes count: which machine, since which start of it, in which container. What cannot
/// be found is empty.
struct ProcessSpace {
  std::string boot = {};       ///< the kernel's boot_id
  std::string pid_space = {};  ///< "pid:[4026531836]"; containers share a boot, and count for themselves
  std::string machine_id =
      {};  ///< a digest of /etc/machine-id, which survives a restart and is not to be told
  friend bool operator==(const ProcessSpace&, const ProcessSpace&) = default;

  [[nodiscard]] static ProcessSpace here(const std::filesystem::path& root = "/");
  [[nodiscard]] bool is_outside_containers() const;  ///< in the namespace that the kernel begins with
};

/// What can be told, from here, of a process that was noted once.
enum class Whereabouts {
  lives,      ///< here, now
  gone,       ///< it was numbered as here, since the same start of the machine, and is no more
  restarted,  ///< this machine has been started anew since, and it was in no container
  unknown,    ///< of another machine or container, or nobody knows of which
};

/// A process beyond its number, which another may get: with the moment of its start, and where that counts.
struct ProcessIdentity {
  pid_t pid = 0;
  std::uint64_t start = 0;  ///< clock ticks after boot
  ProcessSpace space = {};
  friend bool operator==(const ProcessIdentity&, const ProcessIdentity&) = default;

  [[nodiscard]] std::string text() const;  ///< "4242 918273 BOOT/pid:[4026531836] MACHINE"
  /// Takes older texts too, which had no machine.
  [[nodiscard]] static std::optional<ProcessIdentity> parse(std::string_view text);
  /// The process that has this number now; nothing where there is none. `root` has the folders proc, etc and
  /// var.
  [[nodiscard]] static std::optional<ProcessIdentity> of(pid_t pid, const std::filesystem::path& root = "/");

  [[nodiscard]] Whereabouts whereabouts(const std::filesystem::path& root = "/") const;
  [[nodiscard]] bool lives(const std::filesystem::path& root = "/") const;
};

/// Processes that carry `variable` ("NAME=value") in the environment they were started with, even where they
/// left the run's group and tree; and, where `group` is given, the members of that process group, even where
/// they emptied their environment.
[[nodiscard]] std::vector<ProcessIdentity> processes_with(std::string_view variable, pid_t group = 0,
                                                          const std::filesystem::path& root = "/");

}  // namespace plimsoll::running
