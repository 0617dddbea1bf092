#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/printable.hpp"

namespace plimsoll::report {

enum class Align { left, right };

struct Column {
  std::string title;
  Align align = Align::left;
  bool shrinks = false;  ///< may be cut in the middle where the line is too long for the terminal
};

/// A table of texts, rendered for people or for programs without knowing what it is about. What comes from
/// a file goes through printable() first.
struct Table {
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;
};

/// How text for people may look. Without a width nothing is cut; colour only on a terminal.
struct TextStyle {
  std::optional<int> width = {};
  bool color = false;
};

[[nodiscard]] std::string to_text(const Table& table, const TextStyle& style);
[[nodiscard]] std::string to_csv(const Table& table);       ///< RFC 4180
[[nodiscard]] std::string csv_cell(std::string_view text);  ///< in quotes where it needs them
[[nodiscard]] std::string to_markdown(const Table& table);

/// Columns that a UTF-8 text takes, one per code point.
[[nodiscard]] std::size_t display_width(std::string_view text);

[[nodiscard]] std::string bold(std::string_view text, const TextStyle& style);
[[nodiscard]] std::string dim(std::string_view text, const TextStyle& style);
[[nodiscard]] std::string green(std::string_view text, const TextStyle& style);
[[nodiscard]] std::string red(std::string_view text, const TextStyle& style);

}  // namespace plimsoll::report
