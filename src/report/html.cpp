#include "report/html.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/embedded.hpp"
#include "base/printable.hpp"

namespace plimsoll {
/// src/report/pages/ as it was when the program was built.
[[nodiscard]] std::span<const EmbeddedFile> embedded_pages();
}  // namespace plimsoll

namespace plimsoll::report {

std::string escape_html(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  return out;
}

std::string script_json(const nlohmann::ordered_json& json) {
  std::string out;
  for (const char c : json.dump()) switch (c) {
      case '<': out += "\\u003c"; break;
      case '>': out += "\\u003e"; break;
      case '&': out += "\\u0026"; break;
      default: out += c;
    }
  return out;
}

std::string_view page_part(std::string_view name) {
  for (const EmbeddedFile& file : embedded_pages())
    if (file.name == name) return file.contents;
  return {};
}

std::string page_head(std::string_view title, std::string_view style, std::string_view more_style) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\">\n<meta http-equiv=\"Content-Security-Policy\" "
      "content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
      "<title>{}</title>\n<style>\n{}{}</style>\n</head>\n<body>\n",
      escape_html(title), page_part(style), more_style);
}

std::string table_html(const Table& table) {
  const auto kind = [&](std::size_t column) {
    return table.columns[column].align == Align::right ? " class=\"number\"" : "";
  };
  std::string out = "<div class=\"wide\"><table><thead><tr>";
  for (std::size_t c = 0; c < table.columns.size(); ++c)
    out += fmt::format("<th{}>{}</th>", kind(c), escape_html(table.columns[c].title));
  out += "</tr></thead><tbody>\n";
  for (const std::vector<std::string>& row : table.rows) {
    out += "<tr>";
    for (std::size_t c = 0; c < row.size(); ++c)
      out += fmt::format("<td{}>{}</td>", kind(c), escape_html(row[c]));
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

}  // namespace plimsoll::report
