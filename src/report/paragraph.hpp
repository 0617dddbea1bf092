#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "report/table.hpp"

namespace plimsoll::report {

/// Breaks text between words into lines of at most `width` columns, each after `indent`; a word that is
/// longer than a line, a path, say, is parted where its parts end. Ends in a newline.
[[nodiscard]] std::string wrap(std::string_view paragraph, std::size_t width, std::string_view indent);

/// A label and what it stands for: the text goes on beside the label, broken under itself.
[[nodiscard]] std::string hanging(std::string_view label, std::string_view text, const TextStyle& style);

/// A paragraph across the page.
[[nodiscard]] std::string paragraph(std::string_view text, const TextStyle& style);

/// An absolute path by its last folder and its name, "…/models/net.onnx"; any other name as it is.
[[nodiscard]] std::string short_path(std::string_view name);

/// Columns for running text: the terminal's, but no more than read well.
[[nodiscard]] std::size_t text_width(const TextStyle& style);

}  // namespace plimsoll::report
