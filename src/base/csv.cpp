#include "base/csv.hpp"

namespace plimsoll {
namespace {

/// One cell from `at` on; leaves `at` behind it, on the separator.
Result<std::string> read_cell(std::string_view text, std::size_t& at, std::size_t& line) {
  std::string cell;
  if (at < text.size() && text[at] == '"') {
    const std::size_t opened = line;
    for (++at;; ++at) {
      if (at >= text.size()) return fail("line {}: a quote is opened and never closed", opened);
      if (text[at] == '"') {
        if (at + 1 >= text.size() || text[at + 1] != '"') break;
        ++at;
      }
      if (text[at] == '\n') ++line;
      cell += text[at];
    }
    ++at;
  }
  while (at < text.size() && text[at] != ',' && text[at] != '\n') cell += text[at++];
  if (cell.ends_with('\r')) cell.pop_back();
  return cell;
}

bool needs_quotes(std::string_view cell) {
  return cell.find_first_of(",\"\r\n") != std::string_view::npos || cell.starts_with(' ') ||
         cell.ends_with(' ');
}

}  // namespace

Result<std::vector<CsvRow>> read_csv(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  std::vector<CsvRow> rows;
  std::size_t line = 1;
  for (std::size_t at = 0; at < text.size();) {
    CsvRow row{{}, line};
    while (true) {
      Result<std::string> cell = read_cell(text, at, line);
      if (!cell) return std::unexpected(std::move(cell).error());
      row.cells.push_back(*std::move(cell));
      if (at >= text.size() || text[at] == '\n') break;
      ++at;  // the comma
    }
    ++at;
    ++line;
    if (row.cells.size() > 1 || !row.cells.front().empty()) rows.push_back(std::move(row));
  }
  return rows;
}

std::string write_csv(const std::vector<CsvRow>& rows) {
  std::string out;
  for (const CsvRow& row : rows) {
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      if (i > 0) out += ',';
      const std::string& cell = row.cells[i];
      if (!needs_quotes(cell)) {
        out += cell;
        continue;
      }
      out += '"';
      for (const char c : cell) out += c == '"' ? std::string("\"\"") : std::string(1, c);
      out += '"';
    }
    out += '\n';
  }
  return out;
}

}  // namespace plimsoll
