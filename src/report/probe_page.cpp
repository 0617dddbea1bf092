#include "report/probe_page.hpp"

#include <fmt/format.h>

#include "report/html.hpp"
#include "report/probe_charts.hpp"
#include "report/probe_report.hpp"

namespace plimsoll::report {
namespace {

using probe::Survey;
using probe::SurveyedDevice;

std::string paragraphs(const std::vector<std::string>& lines, std::string_view kind) {
  std::string out;
  for (const std::string& line : lines)
    out += fmt::format("<p{}>{}</p>\n", kind.empty() ? "" : fmt::format(" class=\"{}\"", kind),
                       escape_html(line));
  return out;
}

std::string section(std::string_view title, const Table& table, const std::vector<std::string>& notes = {}) {
  if (table.rows.empty()) return "";
  return fmt::format("<section>\n<h2>{}</h2>\n{}{}</section>\n", escape_html(title), table_html(table),
                     paragraphs(notes, ""));
}

std::string header(const Survey& survey) {
  std::string out = "<header><h1>What this machine can do</h1></header>\n<main>\n<dl>";
  const auto fact = [&](std::string_view label, std::string_view value) {
    if (!value.empty()) out += fmt::format("<dt>{}</dt><dd>{}</dd>", label, escape_html(value));
  };
  for (const auto& [label, device] : {std::pair{"CPU", &survey.cpu}, {"GPU", &survey.gpu}})
    if (*device)
      fact(label, (*device)->device.name + ((*device)->setup.empty() ? "" : ", " + (*device)->setup));
  fact("Measured", survey.date);
  out += "</dl>\n";
  if (const auto doubts = survey_doubts(survey); !doubts.empty())
    out +=
        "<section class=\"verdict failed\">\n<h3>Doubtful</h3>\n" + paragraphs(doubts, "") + "</section>\n";
  return out;
}

std::string charts_html(const Survey& survey) {
  std::string out;
  for (const LogChart& chart : survey_charts(survey))
    out += fmt::format("<figure id=\"{}\">\n{}</figure>\n", escape_html(chart.name),
                       to_svg(chart, SvgUse::page));
  return out.empty() ? out : "<div class=\"charts wide-charts\">\n" + out + "</div>\n";
}

}  // namespace

std::string survey_page(const Survey& survey) {
  std::string out = page_head("What this machine can do – Plimsoll", "run.css");
  out += fmt::format("<style>\n{}{}</style>\n", page_part("log_chart.css"), page_part("probe.css"));
  out += header(survey) + charts_html(survey);
  for (const auto& [side, device] : {std::pair{"CPU", &survey.cpu}, {"GPU", &survey.gpu}})
    if (*device) out += section(fmt::format("{}: ceilings", side), ceiling_table(**device));
  out += section("Sum of two arrays of floats", vector_add_table(survey), vector_add_notes(survey));
  out += section("Product of two square matrices of floats", product_table(survey));
  for (const auto& [side, device] : {std::pair{"CPU", &survey.cpu}, {"GPU", &survey.gpu}}) {
    if (!*device) continue;
    out += section(fmt::format("{}: memory by working set", side), curve_table(**device, "memory-"));
    out += section(fmt::format("{}: copies by size", side), curve_table(**device, "copy-"));
  }
  out += "</main>\n<footer>\n" + paragraphs(survey_notes(survey), "note") +
         "<p class=\"note\">Medians, with half of their 95 % interval. \"Of peak\" is what was measured as a "
         "share "
         "of what the datasheet promises: PPP, the platform's percent of "
         "peak.</p>\n</footer>\n</body>\n</html>\n";
  return out;
}

}  // namespace plimsoll::report
