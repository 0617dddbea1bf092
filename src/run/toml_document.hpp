#pragma once
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace plimsoll::running {

/// A TOML document as JSON, for whoever reads both in one way. An error names the line.
[[nodiscard]] Result<std::string> toml_as_json(std::string_view text);

}  // namespace plimsoll::running
