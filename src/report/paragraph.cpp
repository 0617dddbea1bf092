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

/// How many bytes of a word that is too long stay on a line of `room` columns: up to where paths, lists and
/// assignments can be parted, else as many as there is room for.
std::size_t first_piece(std::string_view word, std::size_t room) {
  std::size_t at = 0, columns = 0, parted = 0;
  while (at < word.size() && columns < room) {
    const char c = word[at];
    ++at;
    while (at < word.size() && (static_cast<unsigned char>(word[at]) >> 6U) == 2) ++at;
    ++columns;
    if (c == '/' || c == ',' || c == '=' || c == ';' || c == '&' || c == '-' || c == '_' || c == '.')
      parted = at;
  }
  return 3 * parted > at ? parted : at;
}

}  // namespace

std::string wrap(std::string_view paragraph, std::size_t width, std::string_view indent) {
  constexpr std::size_t kLeastRoom = 8;
  const std::size_t margin = display_width(indent);
  const std::size_t room = std::max(width, margin + kLeastRoom) - margin;
  std::string out;
  std::size_t column = 0;
  const auto put = [&](std::string_view word, std::size_t columns) {
    if (column > 0 && column + 1 + columns > width) {
      out += '\n';
      column = 0;
    }
    if (column == 0) {
      out += indent;
      column = margin;
    } else {
      out += ' ';
      ++column;
    }
    out += word;
    column += columns;
  };
  while (!paragraph.empty()) {
    const std::size_t cut = paragraph.find(' ');
    std::string_view word = paragraph.substr(0, cut);
    // What is coloured is a word of the program's own, never a path.
    while (columns_of(word) > room && word.find('\x1b') == std::string_view::npos) {
      const std::size_t piece = first_piece(word, room);
      put(word.substr(0, piece), room);
      word.remove_prefix(piece);
    }
    put(word, columns_of(word));
    if (cut == std::string_view::npos) break;
    paragraph.remove_prefix(cut + 1);
  }
  return out + '\n';
}

std::string hanging(std::string_view label, std::string_view text, const TextStyle& style) {
  const std::size_t margin = display_width(label);
  if (text.empty()) return std::string(label.substr(0, label.find_last_not_of(' ') + 1)) + '\n';
  return std::string(label) + wrap(text, text_width(style), std::string(margin, ' ')).substr(margin);
}

std::string paragraph(std::string_view text, const TextStyle& style) {
  return wrap(text, text_width(style), "");
}

std::string short_path(std::string_view name) {
  if (!name.starts_with('/')) return std::string(name);
  const std::size_t last = name.rfind('/');
  const std::size_t folder = last == 0 ? 0 : name.rfind('/', last - 1);
  return folder == 0 ? std::string(name) : "…" + std::string(name.substr(folder));
}

std::size_t text_width(const TextStyle& style) {
  return static_cast<std::size_t>(std::clamp(style.width.value_or(100), 40, 100));
}

}  // namespace plimsoll::report
