#pragma once
#include <string>

#include <nlohmann/json.hpp>

#include "run/session.hpp"

namespace plimsoll {

/// A line on standard error, "plimsoll: …". It ends no command: not where nobody reads it any more, and not
/// where its reader has stopped.
void tell(const std::string& line);

/// How a run ended, in a line or two.
void tell_end(const running::Ended& ended, const std::string& title);

/// The same for programs.
[[nodiscard]] nlohmann::ordered_json end_json(const running::Ended& ended);

/// The command's own code, as it would have been without Plimsoll; 128 + N for a signal, as a shell says it.
[[nodiscard]] int exit_code_of(const running::Ended& ended);

}  // namespace plimsoll
