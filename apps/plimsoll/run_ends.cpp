#include "run_ends.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include "base/printable.hpp"
#include "base/text.hpp"

namespace plimsoll {
namespace {

std::string first_line(const std::string& text) {
  return printable(text.substr(0, text.find('\n')));
}

}  // namespace

void tell(const std::string& line) {
  const std::string text = fmt::format("plimsoll: {}\n", line);
  pollfd ready{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&ready, 1, 1000) <= 0) return;
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

void tell_end(const running::Ended& ended, const std::string& title) {
  std::string line = fmt::format("{}: {}", printable(title), running::name(ended.outcome));
  if (ended.elapsed.value() > 0) line += fmt::format(" after {}", text(ended.elapsed));
  if (!ended.run.empty()) line += fmt::format(" (run {})", ended.run.substr(0, 8));
  if (ended.outcome != running::Outcome::finished && !ended.reason.empty())
    line += ": " + first_line(ended.reason);
  tell(line);
  if (ended.unkept) {
    tell(fmt::format("the end of the record was not kept: {}", printable(ended.unkept->text())));
    if (!ended.unkept->hint.empty()) tell(printable(ended.unkept->hint));
  }
  if (ended.metrics_lost > 0)
    tell(fmt::format("{} of its metrics were not kept: the store did not take them", ended.metrics_lost));
}

nlohmann::ordered_json end_json(const running::Ended& ended) {
  nlohmann::ordered_json out;
  out["run"] = ended.run.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(ended.run);
  out["outcome"] = running::name(ended.outcome);
  out["reason"] = ended.reason;
  out["exit_code"] = ended.signal == 0 ? nlohmann::ordered_json(ended.exit_code) : nlohmann::ordered_json();
  out["signal"] = ended.signal != 0 ? nlohmann::ordered_json(ended.signal) : nlohmann::ordered_json();
  out["seconds"] = ended.elapsed.value();
  out["retried"] = ended.retried;
  out["recorded"] = !ended.unkept;
  out["metrics_lost"] = ended.metrics_lost;
  return out;
}

int exit_code_of(const running::Ended& ended) {
  switch (ended.outcome) {
    case running::Outcome::time_limit: return 124;  // as timeout(1)
    case running::Outcome::epoch_limit: return 0;
    default: return ended.signal != 0 ? 128 + ended.signal : ended.exit_code;
  }
}

}  // namespace plimsoll
