#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "run/process_identity.hpp"

namespace plimsoll::running {

/// Where a Plimsoll that runs commands keeps its sockets and its MPS daemons' directories: only this user may
/// enter it, and it names its owner, so that a later start knows what a killed one left behind.
class RuntimeDirectory {
 public:
  /// $XDG_RUNTIME_DIR/plimsoll, where that directory is safe from others, else /tmp/plimsoll-UID: short,
  /// since a socket's path has at most 107 characters.
  [[nodiscard]] static Result<std::filesystem::path> base();
  [[nodiscard]] static Result<RuntimeDirectory> make(const std::filesystem::path& base);

  RuntimeDirectory(RuntimeDirectory&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  RuntimeDirectory& operator=(RuntimeDirectory&&) = delete;
  RuntimeDirectory(const RuntimeDirectory&) = delete;
  RuntimeDirectory& operator=(const RuntimeDirectory&) = delete;
  ~RuntimeDirectory();  ///< removes it

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Notes a run, before it is started, so that its processes can be found after this one's sudden end.
  [[nodiscard]] Status note_run(std::string_view id) const;
  /// Notes jobs that wait for their turn, by their marks (run/turns.hpp).
  [[nodiscard]] Status note_waiting(const std::vector<std::string>& marks) const;
  [[nodiscard]] Status note_daemon(const ProcessIdentity& daemon) const;
  /// What runs here shall go on after this process's sudden end; all of it stays until the last of it has
  /// ended.
  [[nodiscard]] Status note_survival() const;

 private:
  explicit RuntimeDirectory(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;  // empty after a move
};

/// Makes a directory that only this user may enter; refuses one that somebody else made or may write in.
[[nodiscard]] Status make_private(const std::filesystem::path& path);

/// The runs that were noted in a directory.
[[nodiscard]] std::vector<std::string> noted_runs(const std::filesystem::path& directory);

/// The marks of jobs that waited there for their turn, or still do.
[[nodiscard]] std::vector<std::string> noted_waiting(const std::filesystem::path& directory);

/// Runs that go on although the one who watched them was killed, as they were meant to.
[[nodiscard]] std::vector<std::string> surviving_runs(const std::filesystem::path& base);

/// What was found of owners that are gone, and ended.
struct Cleaned {
  std::vector<std::string> runs;
  std::size_t processes = 0;  ///< ended: of those runs, and MPS daemons
  std::size_t directories = 0;
};

/// Ends the processes of runs and daemons whose Plimsoll is gone, and removes their directories; touches
/// nothing of one that lives, and no process but those noted or carrying a noted run's mark.
[[nodiscard]] Cleaned clean_up(const std::filesystem::path& base);

/// Ends what still runs of a run whose supervisor is gone, politely, then, a second later, firmly; how many
/// processes that were.
[[nodiscard]] std::size_t end_processes_of(std::string_view run);

/// The mark in the environment of every process of a run.
inline constexpr std::string_view kRunVariable = "PLIMSOLL_RUN_ID";

}  // namespace plimsoll::running
