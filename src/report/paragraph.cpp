#include "report/paragraph.hpp"

#include <algorithm>

namespace plimsoll::report {
namespace {

/// Columns of a word, colours not counted.
std::size_t columns_of(std::string_view word) {
  std::size_t columns = 0;
  while (!word.empty()) {
    const std::size_t escape = word.find('\x1b');
    columns += display_width(word.substr(0, escape));
    if (escape == std::string_view::npos) break;
    const std::size_t end = word.find('m', escape);
    word.remove_prefix(end == std::string_view::npos ? word.size() : end + 1);
  }
  return columns;
}

}  // namespace

std::string wrap(std::string_view paragraph, std::size_t width, std::string_view indent) {
  std::string out;
  std::size_t column = 0;
  while (!paragraph.empty()) {
    const std::size_t cut = paragraph.find(' ');
    const std::string_view word = paragraph.substr(0, cut);
    const std::size_t columns = columns_of(word);
    if (column > 0 && column + 1 + columns > width) {
      out += '\n';
      column = 0;
    }
    if (column == 0) {
      out += indent;
      column = display_width(indent);
    } else {
      out += ' ';
      ++column;
    }
    out += word;
    column += columns;
    if (cut == std::string_view::npos) break;
    paragraph.remove_prefix(cut + 1);
  }
  return out + '\n';
}

std::size_t text_width(const TextStyle& style) {
  return static_cast<std::size_t>(std::clamp(style.width.value_or(100), 40, 100));
}

}  // namespace plimsoll::report
