#include "report/table.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace plimsoll::report {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kNarrowestColumn = 12;

/// Whether a byte begins a character, in UTF-8 that printable() let through.
bool begins_character(char c) {
  return (static_cast<unsigned char>(c) >> 6U) != 2;
}

std::string pad(std::string_view text, std::size_t width, Align align) {
  const std::size_t used = display_width(text);
  const std::string fill(width > used ? width - used : 0, ' ');
  return align == Align::left ? std::string(text) + fill : fill + std::string(text);
}

/// Both ends of a layer's name say more than its middle.
std::string shorten(std::string_view text, std::size_t width) {
  if (display_width(text) <= width || width < 3) return std::string(text);
  std::vector<std::size_t> begins;  // where each character does
  for (std::size_t i = 0; i < text.size(); ++i)
    if (begins_character(text[i])) begins.push_back(i);
  const std::size_t tail = (width - 1) / 2, head = width - 1 - tail;
  std::string out(text.substr(0, begins[head]));
  out += "…";
  if (tail > 0) out += text.substr(begins[begins.size() - tail]);
  return out;
}

std::vector<std::size_t> column_widths(const Table& table, const TextStyle& style) {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    std::size_t w = display_width(table.columns[c].title);
    for (const auto& row : table.rows) w = std::max(w, display_width(row[c]));
    widths.push_back(w);
  }
  if (!style.width) return widths;
  std::size_t total = kGap * (widths.size() - 1);
  for (const std::size_t w : widths) total += w;
  const auto limit = static_cast<std::size_t>(*style.width);
  while (total > limit) {
    // Take from the widest column that may shrink.
    std::size_t best = widths.size();
    for (std::size_t c = 0; c < widths.size(); ++c)
      if (table.columns[c].shrinks && widths[c] > kNarrowestColumn &&
          (best == widths.size() || widths[c] > widths[best]))
        best = c;
    if (best == widths.size()) break;
    const std::size_t cut = std::min(total - limit, widths[best] - kNarrowestColumn);
    widths[best] -= cut;
    total -= cut;
  }
  return widths;
}

std::string escape_markdown(std::string_view cell) {
  std::string out;
  for (const char c : cell) {
    if (c == '|' || c == '\\' || c == '`' || c == '*' || c == '_' || c == '<') out += '\\';
    out += c;
  }
  return out;
}

std::string escape(std::string_view code, std::string_view text, const TextStyle& style) {
  return style.color ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

}  // namespace

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, begins_character));
}

std::string to_text(const Table& table, const TextStyle& style) {
  const auto widths = column_widths(table, style);
  std::string out;
  const auto line = [&](const auto& cell_of, bool heading) {
    std::string text;
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      if (c > 0) text.append(kGap, ' ');
      const std::string cell = shorten(cell_of(c), widths[c]);
      text += pad(cell, widths[c], table.columns[c].align);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += heading ? bold(text, style) : text;
    out += '\n';
  };
  line([&](std::size_t c) -> std::string_view { return table.columns[c].title; }, true);
  for (const auto& row : table.rows) line([&](std::size_t c) -> std::string_view { return row[c]; }, false);
  return out;
}

std::string csv_cell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

std::string to_csv(const Table& table) {
  std::string out;
  const auto line = [&](const auto& cell_of) {
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      if (c > 0) out += ',';
      out += csv_cell(cell_of(c));
    }
    out += "\r\n";
  };
  line([&](std::size_t c) -> std::string_view { return table.columns[c].title; });
  for (const auto& row : table.rows) line([&](std::size_t c) -> std::string_view { return row[c]; });
  return out;
}

std::string to_markdown(const Table& table) {
  std::string out = "|";
  for (const Column& c : table.columns) out += fmt::format(" {} |", escape_markdown(c.title));
  out += "\n|";
  for (const Column& c : table.columns) out += c.align == Align::right ? "---:|" : "---|";
  out += '\n';
  for (const auto& row : table.rows) {
    out += '|';
    for (const std::string& cell : row) out += fmt::format(" {} |", escape_markdown(cell));
    out += '\n';
  }
  return out;
}

std::string bold(std::string_view text, const TextStyle& style) {
  return escape("1", text, style);
}
std::string dim(std::string_view text, const TextStyle& style) {
  return escape("2", text, style);
}
std::string green(std::string_view text, const TextStyle& style) {
  return escape("32", text, style);
}
std::string red(std::string_view text, const TextStyle& style) {
  return escape("31", text, style);
}

}  // namespace plimsoll::report
