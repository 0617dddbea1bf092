#pragma once
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace plimsoll::running {

/// Before toml++ reads it: fails where a letter beyond ASCII stands outside comments and texts of one line.
[[nodiscard]] Status check_toml_letters(std::string_view text);

/// A TOML document as JSON, for whoever reads both in one way. An error names the line.
[[nodiscard]] Result<std::string> toml_as_json(std::string_view text);

}  // namespace plimsoll::running
