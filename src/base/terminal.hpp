#pragma once
#include <optional>
#include <string>

namespace plimsoll {

/// The person's choice by --color.
enum class ColorChoice { automatic, always, never };

/// The variables that say how to print; nothing where one is not set.
struct TerminalVariables {
  std::optional<std::string> no_color = {};
  std::optional<std::string> term = {};
  std::optional<std::string> columns = {};

  [[nodiscard]] static TerminalVariables of_this_process();
};

/// What printing to one descriptor may take for granted.
struct Terminal {
  bool interactive = false;       ///< a person's terminal rather than a file or a pipe
  bool color = false;             ///< escape sequences are welcome
  std::optional<int> width = {};  ///< columns; nothing: no limit
  friend bool operator==(const Terminal&, const Terminal&) = default;
};

/// COLUMNS, where it is a positive number, decides the width over the window's own; a terminal that does not
/// say, a file and a pipe have 80 columns: what is read there later is read in a window, too. --color decides
/// over NO_COLOR (set and not empty: none, see no-color.org), that over TERM=dumb, and that over whether it
/// is a terminal.
[[nodiscard]] Terminal describe_terminal(bool interactive, std::optional<int> window_columns,
                                         ColorChoice choice, const TerminalVariables& variables);

/// The same for an open descriptor of this process, usually STDOUT_FILENO.
[[nodiscard]] Terminal describe_terminal(int descriptor, ColorChoice choice);

}  // namespace plimsoll
