#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace plimsoll {

/// Text from outside, fit for a terminal, a message or JSON: UTF-8 stays, but control characters, direction
/// marks and broken UTF-8 become \xNN. What is longer than `most` bytes is cut between characters and ends
/// in "…".
[[nodiscard]] std::string printable(std::string_view text, std::size_t most = std::string_view::npos);

/// A name from a file within a message: printable, not too long, in quotes.
[[nodiscard]] std::string quote(std::string_view name);

}  // namespace plimsoll
