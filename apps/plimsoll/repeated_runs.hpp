#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "run/session.hpp"

namespace plimsoll {

/// A command that is to be run several times; {run} within a word stands for the time's number, from 1.
struct RepeatedCommand {
  std::string name;
  running::JobSpec job;
};

struct RepeatedRun {
  std::size_t command = 0;
  running::Ended ended;
};

/// Runs each command so often, one after the other and the commands in turn, so that a machine that grows
/// warm or busy is no command's alone. `each` hears of every end. Stops where a person interrupts, with what
/// there is.
[[nodiscard]] Result<std::vector<RepeatedRun>> run_repeatedly(
    const std::vector<RepeatedCommand>& commands, std::size_t times, const running::SessionOptions& options,
    const std::function<void(const RepeatedRun&)>& each);

}  // namespace plimsoll
