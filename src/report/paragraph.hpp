#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "report/table.hpp"

namespace plimsoll::report {

/// Breaks text between words into lines of at most `width` columns, each after `indent`; a longer word has a
/// line of its own. Ends in a newline.
[[nodiscard]] std::string wrap(std::string_view paragraph, std::size_t width, std::string_view indent);

/// Columns for running text: the terminal's, but no more than read well.
[[nodiscard]] std::size_t text_width(const TextStyle& style);

}  // namespace plimsoll::report
