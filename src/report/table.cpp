#include "report/table.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/paragraph.hpp"

namespace plimsoll::report {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kNarrowestColumn = 16;   ///< to which a name is cut before a column is left out
constexpr std::size_t kNarrowestText = 20;     ///< the same of a text that is wrapped
constexpr std::size_t kWidestNarrowText = 28;  ///< however long its words are
constexpr std::size_t kNarrowestOfAll = 8;     ///< of a column that is always kept, where nothing else helps

/// Whether a byte begins a character, in UTF-8 that printable() let through.
bool begins_character(char c) {
  return (static_cast<unsigned char>(c) >> 6U) != 2;
}

std::string pad(std::string_view text, std::size_t width, Align align) {
  const std::size_t used = display_width(text);
  const std::string fill(width > used ? width - used : 0, ' ');
  return align == Align::left ? std::string(text) + fill : fill + std::string(text);
}

/// What a column takes of a line: all that it wants, and the least that it can do with.
struct Room {
  std::size_t wanted = 0, least = 0;
};

std::size_t longest_word(std::string_view text) {
  std::size_t longest = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    longest = std::max(longest, display_width(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return longest;
}

/// A number and what follows it, its unit mostly, stay on one line: the space between is no place to break
/// at.
constexpr char kJoined = '\x01';  ///< stands for such a space meanwhile; printable() lets none through

std::string with_units_joined(std::string_view text) {
  std::string out(text);
  for (std::size_t i = 1; i + 1 < out.size(); ++i)
    if (out[i] == ' ' && out[i - 1] >= '0' && out[i - 1] <= '9') out[i] = kJoined;
  return out;
}

Room room_of(const Table& table, std::size_t c) {
  const Column& column = table.columns[c];
  std::size_t cells = 0, words = 0;
  for (const auto& row : table.rows) {
    cells = std::max(cells, display_width(row[c]));
    if (column.wraps) words = std::max(words, longest_word(with_units_joined(row[c])));
  }
  const std::size_t title = longest_word(column.title);
  Room room{std::max(cells, display_width(column.title)), std::max(cells, title)};
  if (column.shrinks) room.least = std::min(room.wanted, kNarrowestColumn);
  if (column.wraps) {
    // Two thirds: short cells, as "182 MiB (3.41 ms)", break once; sentences have lines that can be read.
    const std::size_t readable = std::min(kNarrowestText, 2 * room.wanted / 3);
    room.least = std::min({room.wanted, std::max({words, title, readable}), kWidestNarrowText});
  }
  return room;
}

/// Which columns are shown, and how wide.
struct Layout {
  std::vector<std::size_t> columns, widths;
  std::vector<std::size_t> left_out;
};

std::size_t width_in_all(const Layout& layout, const std::vector<Room>& rooms, std::size_t Room::* part) {
  std::size_t sum = layout.columns.empty() ? 0 : kGap * (layout.columns.size() - 1);
  for (const std::size_t c : layout.columns) sum += rooms[c].*part;
  return sum;
}

/// The one to leave out next, as a place in `layout.columns`; 0: none is left that may go. Names without
/// anything beside them would say nothing.
std::size_t least_important(const Table& table, const Layout& layout) {
  std::size_t least = 0;
  if (layout.columns.size() <= 2) return least;
  for (std::size_t i = 1; i < layout.columns.size(); ++i) {
    const Importance own = table.columns[layout.columns[i]].importance;
    if (own == Importance::always) continue;
    if (least == 0 || own <= table.columns[layout.columns[least]].importance) least = i;
  }
  return least;
}

/// Breaks titles that are longer than all below them, the one that gains most first.
void break_titles(const Table& table, const Layout& layout, std::vector<Room>& rooms, std::size_t limit) {
  while (width_in_all(layout, rooms, &Room::wanted) > limit) {
    Room* most = nullptr;
    for (const std::size_t c : layout.columns) {
      Room& room = rooms[c];
      if (table.columns[c].shrinks || table.columns[c].wraps) continue;
      if (room.wanted > room.least && (!most || room.wanted - room.least > most->wanted - most->least))
        most = &room;
    }
    if (most == nullptr) return;
    most->wanted = most->least;
  }
}

/// Takes one column of text after the other from the widest that has more than it needs at least.
void narrow(Layout& layout, std::vector<Room>& rooms, std::size_t limit) {
  for (std::size_t over = width_in_all(layout, rooms, &Room::wanted); over > limit; --over) {
    Room* widest = nullptr;
    for (const std::size_t c : layout.columns)
      if (Room& room = rooms[c]; room.wanted > room.least && (!widest || room.wanted > widest->wanted))
        widest = &room;
    if (widest == nullptr) return;
    --widest->wanted;
  }
}

/// A cell's lines, none wider than its column.
std::vector<std::string> lines_of(std::string_view cell, std::size_t width, bool wraps) {
  if (!wraps || display_width(cell) <= width) return {shortened(cell, width)};
  std::vector<std::string> out;
  std::string wrapped = wrap(with_units_joined(cell), width, "");
  std::ranges::replace(wrapped, kJoined, ' ');
  for (std::size_t at = 0; at < wrapped.size();) {
    const std::size_t end = wrapped.find('\n', at);
    out.push_back(wrapped.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

/// A column whose texts or title were broken is as wide as their longest line.
std::size_t tightened(const Table& table, std::size_t c, std::size_t width) {
  const Column& column = table.columns[c];
  std::size_t used = 0;
  const auto see = [&](std::string_view cell, bool breaks) {
    for (const std::string& line : lines_of(cell, width, breaks)) used = std::max(used, display_width(line));
  };
  see(column.title, column.wraps || !column.shrinks);
  for (const auto& row : table.rows) see(row[c], column.wraps);
  return used;
}

Layout laid_out(const Table& table, const TextStyle& style) {
  Layout layout;
  std::vector<Room> rooms;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    layout.columns.push_back(c);
    rooms.push_back(room_of(table, c));
  }
  if (style.width) {
    const auto limit = static_cast<std::size_t>(*style.width);
    for (Room& room : rooms)
      if (room.least < room.wanted) room.wanted = std::max(room.least, std::min(room.wanted, limit));
    while (width_in_all(layout, rooms, &Room::least) > limit) {
      const std::size_t at = least_important(table, layout);
      if (at == 0) break;
      layout.left_out.push_back(layout.columns[at]);
      layout.columns.erase(layout.columns.begin() + static_cast<std::ptrdiff_t>(at));
    }
    break_titles(table, layout, rooms, limit);
    // What is left has to do: texts are cut as far as it takes, figures never.
    if (width_in_all(layout, rooms, &Room::least) > limit)
      for (const std::size_t c : layout.columns)
        if (table.columns[c].align == Align::left || table.columns[c].shrinks)
          rooms[c].least = std::min(rooms[c].least, kNarrowestOfAll);
    narrow(layout, rooms, limit);
  }
  for (const std::size_t c : layout.columns) layout.widths.push_back(tightened(table, c, rooms[c].wanted));
  std::ranges::sort(layout.left_out);
  return layout;
}

/// One row of cells as lines of text; a heading's cells stand at its foot.
std::string row_text(const Table& table, const Layout& layout, const std::vector<std::string_view>& row,
                     bool heading, const TextStyle& style) {
  std::vector<std::vector<std::string>> cells;
  std::size_t height = 1;
  for (std::size_t i = 0; i < layout.columns.size(); ++i) {
    const std::size_t c = layout.columns[i];
    const bool breaks = table.columns[c].wraps || (heading && !table.columns[c].shrinks);
    cells.push_back(lines_of(row[c], layout.widths[i], breaks));
    height = std::max(height, cells.back().size());
  }
  std::string out;
  for (std::size_t line = 0; line < height; ++line) {
    std::string text;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) text.append(kGap, ' ');
      const std::size_t above = heading ? height - cells[i].size() : 0;
      const bool has = line >= above && line - above < cells[i].size();
      text +=
          pad(has ? cells[i][line - above] : "", layout.widths[i], table.columns[layout.columns[i]].align);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += (heading ? bold(text, style) : text) + '\n';
  }
  return out;
}

/// Which columns a wider terminal would show.
std::string left_out_text(const Table& table, const Layout& layout, const TextStyle& style) {
  std::vector<std::string_view> titles;
  for (const std::size_t c : layout.left_out)
    if (!table.columns[c].title.empty()) titles.push_back(table.columns[c].title);
  if (titles.empty()) return "";
  return wrap(dim(fmt::format("Left out at {} columns: {}; a wider terminal or --json shows {}.",
                              *style.width, fmt::join(titles, ", "), titles.size() == 1 ? "it" : "them"),
                  style),
              std::min(text_width(style), static_cast<std::size_t>(*style.width)), "");
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

std::string shortened(std::string_view text, std::size_t width) {
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

std::string to_text(const Table& table, const TextStyle& style) {
  const Layout layout = laid_out(table, style);
  std::vector<std::string_view> titles;
  for (const Column& column : table.columns) titles.emplace_back(column.title);
  std::string out = row_text(table, layout, titles, true, style);
  for (const auto& row : table.rows) out += row_text(table, layout, {row.begin(), row.end()}, false, style);
  return out + left_out_text(table, layout, style);
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
