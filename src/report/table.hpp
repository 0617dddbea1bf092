#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/printable.hpp"

namespace plimsoll::report {

enum class Align { left, right };

/// How long a column stays where lines are too long for the terminal: the least important goes first, of
/// equals the one further to the right. The first column and those that are always kept never go.
enum class Importance : std::uint8_t { detail, ordinary, telling, always };

struct Column {
  std::string title;
  Align align = Align::left;
  bool shrinks = false;  ///< cells may be cut in the middle where the line is too long for the terminal
  Importance importance = Importance::ordinary;
  bool wraps = false;  ///< or broken between words into several lines: sentences rather than names
};

/// A table of texts, rendered for people or for programs without knowing what it is about. What comes from
/// a file goes through printable() first.
struct Table {
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;
};

/// How text for people may look. Without a width nothing is cut nor left out; colour only on a terminal.
struct TextStyle {
  std::optional<int> width = {};
  bool color = false;
};

/// No line is wider than the style's width, as long as the columns that are always kept have room: titles are
/// broken, columns that may shrink or wrap do, then the least important are left out. A line below the table
/// says which.
[[nodiscard]] std::string to_text(const Table& table, const TextStyle& style);
[[nodiscard]] std::string to_csv(const Table& table);       ///< RFC 4180
[[nodiscard]] std::string csv_cell(std::string_view text);  ///< in quotes where it needs them
[[nodiscard]] std::string to_markdown(const Table& table);

/// Columns that a UTF-8 text takes, one per code point.
[[nodiscard]] std::size_t display_width(std::string_view text);
/// At most so many columns: the middle gives way to "…", since both ends of a name say more.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t width);

[[nodiscard]] std::string bold(std::string_view text, const TextStyle& style);
[[nodiscard]] std::string dim(std::string_view text, const TextStyle& style);
[[nodiscard]] std::string green(std::string_view text, const TextStyle& style);
[[nodiscard]] std::string red(std::string_view text, const TextStyle& style);

}  // namespace plimsoll::report
