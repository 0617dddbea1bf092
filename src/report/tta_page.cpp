#include <fmt/format.h>

#include "base/printable.hpp"
#include "report/html.hpp"
#include "report/run_charts.hpp"
#include "report/tta_charts.hpp"
#include "report/tta_report.hpp"
#include "report/tta_words.hpp"

namespace plimsoll::report {
namespace {

std::string paragraphs(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += fmt::format("<p>{}</p>\n", escape_html(line));
  return out;
}

std::string page_section(std::string_view title, const Table& table) {
  if (table.rows.empty()) return "";
  return fmt::format("<section>\n<h2>{}</h2>\n{}</section>\n", escape_html(title), table_html(table));
}

std::string captioned(std::string_view title, const std::string& svg) {
  if (svg.empty()) return "";
  return fmt::format("<figure>\n<figcaption>{}</figcaption>\n{}\n</figure>\n", escape_html(title), svg);
}

std::string setup_legend(const TtaReport& report) {
  std::string out = "<ul class=\"legend\">";
  for (std::size_t i = 0; i < report.study.setups.size(); ++i)
    out += fmt::format("<li><span class=\"key run-{}\"></span>{}</li>", i % kSheetColors,
                       escape_html(printable(report.study.setups[i].name)));
  return out + "</ul>\n";
}

}  // namespace

std::string tta_page(const TtaReport& report) {
  const bool judged = !report.study.setups.empty();
  const std::string title = judged ? tta_title(report) : "Expected time of a training";
  std::string out = page_head(title + " – Plimsoll", "run.css");
  out += fmt::format("<header><h1>{}</h1></header>\n<main>\n", escape_html(title));
  if (!judged) return out + table_html(tta_expected_table(report)) + "</main>\n</body>\n</html>\n";
  out += setup_legend(report);
  out += table_html(tta_setup_table(report)) + paragraphs(tta_comparisons(report)) +
         paragraphs(tta_sentences(report));
  out += "<div class=\"charts\">\n";
  const std::string metric =
      report.study.targets.empty() ? "" : fmt::format(": {}", printable(report.study.targets.front().metric));
  out += captioned("Learning curves" + metric, learning_curves_svg(report));
  out += captioned("Share that has not reached it yet (Kaplan–Meier)", survival_curves_svg(report));
  out += captioned("Times: quartiles, median, every run; hollow: not reached", time_boxes_svg(report));
  out += "</div>\n";
  out += page_section("Expected where its step is estimated", tta_expected_table(report));
  out += page_section(tta_generalisation_title(report), tta_generalisation_table(report));
  out += page_section("Runs", tta_run_table(report));
  out += page_section("How it moves with the threshold", tta_threshold_table(report));
  out += page_section("How it moves with how often it was evaluated", tta_interval_table(report));
  return out + "</main>\n</body>\n</html>\n";
}

}  // namespace plimsoll::report
