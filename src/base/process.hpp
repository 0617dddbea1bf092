#pragma once
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace plimsoll {

/// A program to run, without a shell in between. It inherits no file descriptor but its three standard ones.
struct ProcessOptions {
  std::vector<std::string> argv;  ///< the program, by path or as found in PATH, and its arguments
  std::vector<std::pair<std::string, std::string>> environment =
      {};                                                     ///< added to this process's, or in its place
  std::filesystem::path directory = {};                       ///< to run in; empty: this process's
  std::string input = {};                                     ///< its standard input; at most 64 KiB
  std::optional<std::chrono::milliseconds> timeout = {};      ///< nothing: waits for ever
  std::chrono::milliseconds grace = std::chrono::seconds(2);  ///< between SIGTERM and SIGKILL

  /// What is printed beyond these is read and dropped. Of standard output the beginning is kept, of
  /// standard error the end, where a program says why it gave up.
  std::size_t output_limit = std::size_t{64} << 20;
  std::size_t error_limit = std::size_t{1} << 20;
  /// Called, in the caller's thread, for every line as it comes, without its newline. Limits do not touch
  /// them; a line longer than `longest_line` comes in pieces.
  std::function<void(std::string_view)> on_output_line = {};
  std::function<void(std::string_view)> on_error_line = {};
  std::size_t longest_line = std::size_t{1} << 20;
  /// Asked, in the caller's thread, after the lines that came and every 20 ms or so; true: the program is
  /// ended as on timeout.
  std::function<bool()> should_end = {};
};

struct ProcessOutput {
  std::string output;
  std::string error;
  bool output_truncated = false;
  bool error_truncated = false;
  int exit_code = 0;  ///< meaningful only where signal is 0
  int signal = 0;     ///< that ended it; 0: it ended by itself
  bool timed_out = false;
  bool ended_early = false;  ///< should_end said so
  std::chrono::nanoseconds elapsed{};

  [[nodiscard]] bool succeeded() const { return signal == 0 && exit_code == 0 && !timed_out && !ended_early; }
  /// "exited with code 3", "was ended by signal 9 (Killed)", "ran longer than allowed and was ended", "was
  /// ended early".
  [[nodiscard]] std::string outcome() const;
};

/// Runs a program to its end. It gets a process group of its own: on timeout the whole group gets SIGTERM,
/// after the grace SIGKILL. So Ctrl-C at the terminal does not reach it by itself. Children that outlive the
/// program without a timeout are left alone, and their later output is not waited for.
/// Fails only where it could not be started (machine_lacks where the program is absent); how it ended is
/// part of the result.
[[nodiscard]] Result<ProcessOutput> run(const ProcessOptions& options);

/// The program's path: `name` itself where it holds a slash, else looked for in `search_path`
/// ("/usr/bin:/bin"; nothing: $PATH). machine_lacks where there is none that may be executed.
[[nodiscard]] Result<std::filesystem::path> find_program(std::string_view name,
                                                         std::optional<std::string_view> search_path = {});

}  // namespace plimsoll
