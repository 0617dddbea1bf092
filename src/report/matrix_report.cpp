#include "report/matrix_report.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "report/html.hpp"
#include "report/paragraph.hpp"

namespace plimsoll::report {
namespace {

using Json = nlohmann::ordered_json;

/// The better half of what two can keep is green, the worse half red; in between it fades to white.
std::string colour_of(double speed) {
  const double good = std::clamp(speed, 0.0, 1.0);
  const double hue = 10 + 120 * good;
  return fmt::format("hsl({:.0f} 55% {:.0f}%)", hue, 58 + 28 * (1 - std::abs(2 * good - 1)));
}

std::string cell_html(const MatrixReport& report, std::size_t row, std::size_t column) {
  const share::Matrix& matrix = report.matrix;
  const bool best = matrix.best_partner(row) == column;
  return fmt::format(
      "<td class=\"{}\" style=\"background:{}\" title=\"{} beside {}: keeps {:.2f}; together "
      "{:.2f}\">{:.2f}{}</td>",
      best ? "best" : "pair", colour_of(matrix.speed(row, column)), escape_html(printable(report.names[row])),
      escape_html(printable(report.names[column])), matrix.speed(row, column), matrix.combined(row, column),
      matrix.speed(row, column), best ? " ★" : "");
}

}  // namespace

std::string matrix_text(const MatrixReport& report, const TextStyle& style) {
  using enum Importance;
  std::string out = fmt::format(
      "{}\n\n", bold(fmt::format("Pairs on {}, {}: what the row keeps of its speed beside the column",
                                 printable(report.device), share::text(report.matrix.sharing)),
                     style));
  Table table{{{"", Align::right, false, always}, {"Workload", Align::left, true, always}}, {}};
  for (std::size_t i = 0; i < report.names.size(); ++i)
    table.columns.push_back({fmt::format("{}", i + 1), Align::right, false, ordinary});
  table.columns.push_back({"Best beside", Align::right, false, always});
  for (std::size_t i = 0; i < report.names.size(); ++i) {
    std::vector<std::string> row = {fmt::format("{}", i + 1), printable(report.names[i])};
    const auto best = report.matrix.best_partner(i);
    for (std::size_t j = 0; j < report.names.size(); ++j)
      row.push_back(fmt::format("{:.2f}{}", report.matrix.speed(i, j), best == j ? "*" : ""));
    row.push_back(best ? fmt::format("{} ({:.2f} together)", *best + 1, report.matrix.combined(i, *best))
                       : "–");
    table.rows.push_back(std::move(row));
  }
  return out + to_text(table, style) + "\n" + paragraph("* beside this one the two do most together", style);
}

Json matrix_json(const MatrixReport& report) {
  Json out;
  out["device"] = report.device;
  out["sharing"] = share::text(report.matrix.sharing);
  out["workloads"] = report.names;
  Json rows = Json::array(), partners = Json::array();
  for (std::size_t i = 0; i < report.names.size(); ++i) {
    Json row = Json::array();
    for (std::size_t j = 0; j < report.names.size(); ++j) row.push_back(report.matrix.speed(i, j));
    rows.push_back(std::move(row));
    const auto best = report.matrix.best_partner(i);
    partners.push_back(best ? Json(report.names[*best]) : Json(nullptr));
  }
  out["speeds"] = std::move(rows);
  out["best_partners"] = std::move(partners);
  return out;
}

std::string matrix_page(const MatrixReport& report) {
  std::string out = page_head(fmt::format("Pairs on {}", printable(report.device)), "matrix.css");
  out += fmt::format(
      "<header><h1>Pairs on {}</h1><p>{}: what the row's workload keeps of its speed beside the column's. "
      "★: beside this one the two do most together.</p></header>\n<main><div "
      "class=\"scroll\"><table>\n<thead><tr><th></th>",
      escape_html(printable(report.device)), escape_html(share::text(report.matrix.sharing)));
  for (const std::string& name : report.names)
    out +=
        fmt::format("<th class=\"column\" scope=\"col\"><span>{}</span></th>", escape_html(printable(name)));
  out += "</tr></thead>\n<tbody>\n";
  for (std::size_t i = 0; i < report.names.size(); ++i) {
    out += fmt::format("<tr><th scope=\"row\">{}</th>", escape_html(printable(report.names[i])));
    for (std::size_t j = 0; j < report.names.size(); ++j) out += cell_html(report, i, j);
    out += "</tr>\n";
  }
  return out + "</tbody></table></div></main></body></html>\n";
}

}  // namespace plimsoll::report
