#include "base/terminal.hpp"

#include <charconv>
#include <cstdlib>
#include <string_view>

#include <sys/ioctl.h>
#include <unistd.h>

namespace plimsoll {
namespace {

constexpr int kUsualWidth = 80;
constexpr int kWidestWindow = 10'000;

std::optional<std::string> variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
}

std::optional<int> positive_number(std::string_view text) {
  int value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size() || value <= 0 || value > kWidestWindow)
    return {};
  return value;
}

bool allows_color(bool interactive, ColorChoice choice, const TerminalVariables& variables) {
  if (choice != ColorChoice::automatic) return choice == ColorChoice::always;
  if (variables.no_color && !variables.no_color->empty()) return false;
  return interactive && variables.term && *variables.term != "dumb";
}

}  // namespace

TerminalVariables TerminalVariables::of_this_process() {
  return {.no_color = variable("NO_COLOR"), .term = variable("TERM"), .columns = variable("COLUMNS")};
}

Terminal describe_terminal(bool interactive, std::optional<int> window_columns, ColorChoice choice,
                           const TerminalVariables& variables) {
  Terminal terminal{.interactive = interactive, .color = allows_color(interactive, choice, variables)};
  if (variables.columns) terminal.width = positive_number(*variables.columns);
  if (!terminal.width) terminal.width = interactive ? window_columns.value_or(kUsualWidth) : kUsualWidth;
  return terminal;
}

Terminal describe_terminal(int descriptor, ColorChoice choice) {
  const bool interactive = ::isatty(descriptor) == 1;
  std::optional<int> columns;
  if (winsize window{}; interactive && ::ioctl(descriptor, TIOCGWINSZ, &window) == 0 && window.ws_col > 0)
    columns = window.ws_col;
  return describe_terminal(interactive, columns, choice, TerminalVariables::of_this_process());
}

}  // namespace plimsoll
