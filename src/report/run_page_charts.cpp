#include <algorithm>

#include <fmt/format.h>

#include "report/html.hpp"
#include "report/run_charts.hpp"
#include "report/run_title.hpp"

namespace plimsoll::report {
namespace {

using diagnose::SeriesGroup;
using diagnose::Span;

std::string run_choice(std::span<const RunReport> reports) {
  std::string out = "<fieldset><legend>Runs</legend>";
  for (std::size_t run = 0; run < reports.size(); ++run)
    out += fmt::format("<label><input type=\"checkbox\" name=\"run\" value=\"{}\" checked> {}{}</label>", run,
                       run_key(run), escape_html(title_among(reports, run)));
  return out + "</fieldset>\n";
}

/// Only with scripts: the style sheet hides it otherwise.
std::string controls(const std::vector<Chart>& charts, std::span<const RunReport> reports) {
  std::string out =
      "<form id=\"controls\" class=\"live\" autocomplete=\"off\">\n<fieldset><legend>Show</legend>";
  bool metrics = false;
  const Chart* before = nullptr;
  for (const Chart& chart : charts) {
    if (!before || before->group != chart.group)
      out += fmt::format("<label><input type=\"checkbox\" name=\"group\" value=\"{}\" checked> {}</label>",
                         name(chart.group), title(chart.group));
    metrics = metrics || chart.group == SeriesGroup::metric;
    before = &chart;
  }
  out += "</fieldset>\n";
  if (reports.size() > 1) out += run_choice(reports);
  out +=
      "<label>Smoothing <input type=\"range\" id=\"smoothing\" min=\"0\" max=\"100\" "
      "value=\"0\"> <output "
      "id=\"smoothed\">none</output></label>\n";
  if (metrics)
    out +=
        "<fieldset id=\"axis\"><legend>Metrics by</legend><label><input type=\"radio\" name=\"axis\" "
        "value=\"step\"> "
        "step</label><label><input type=\"radio\" name=\"axis\" value=\"time\" checked> "
        "time</label></fieldset>\n";
  return out +
         "<span class=\"span\"><output id=\"span\"></output> <button type=\"button\" id=\"reset\" "
         "disabled>Whole "
         "run</button></span>\n<button type=\"button\" id=\"export\">Save as CSV</button>\n</form>\n"
         "<p class=\"live note\">Drag across a chart to zoom, double-click for the whole. On a focused "
         "chart: ← → move, + − "
         "zoom, Shift ← → shift, Esc shows the whole.</p>\n";
}

/// One entry for each label: of one line its key, what it is and room for its value; of several runs' lines a
/// key and room for each.
std::string legend(const Chart& chart) {
  std::string out = "<ul class=\"legend\">";
  std::vector<std::string_view> said;
  for (const ChartLine& line : chart.lines) {
    if (std::ranges::find(said, line.label) != said.end()) continue;
    said.push_back(line.label);
    const bool alone = std::ranges::count(chart.lines, line.label, &ChartLine::label) == 1;
    out += "<li>";
    if (!alone) out += escape_html(line.label);
    for (std::size_t l = 0; l < chart.lines.size(); ++l)
      if (chart.lines[l].label == line.label)
        out += fmt::format("{}<span data-line=\"{}\"><span class=\"key run-{}{}\"></span>{}<b></b></span>",
                           alone ? "" : " ", l, chart.lines[l].color, line.secondary ? " faint" : "",
                           alone ? escape_html(line.label) + " " : "");
    out += "</li>";
  }
  return out + "</ul>";
}

std::string figure(const Chart& chart, std::size_t place, Span span) {
  const bool with_unit = !chart.unit.empty() && chart.unit != "1";
  return fmt::format("<figure data-chart=\"{}\"><figcaption>{}{}</figcaption>\n{}\n{}</figure>\n", place,
                     escape_html(chart.title),
                     with_unit ? fmt::format(" <small>in {}</small>", escape_html(chart.unit)) : "",
                     chart_svg(chart, span), legend(chart));
}

/// The charts of one group; those that are zero throughout stand last in it, and folded away.
std::string group_html(const std::vector<Chart>& charts, std::size_t begin, std::size_t end, Span span) {
  std::string shown, folded, names;
  for (std::size_t i = begin; i < end; ++i) {
    (is_zero(charts[i]) ? folded : shown) += figure(charts[i], i, span);
    if (is_zero(charts[i])) names += (names.empty() ? "" : ", ") + escape_html(charts[i].title);
  }
  std::string out = fmt::format("<section class=\"group\" data-group=\"{}\">\n<h2>{}</h2>\n",
                                name(charts[begin].group), title(charts[begin].group));
  if (!shown.empty()) out += fmt::format("<div class=\"charts\">\n{}</div>\n", shown);
  if (!folded.empty())
    out += fmt::format(
        "<details class=\"zero\"><summary>Zero throughout: {}</summary>\n<div "
        "class=\"charts\">\n{}</div>\n</details>\n",
        names, folded);
  return out + "</section>\n";
}

}  // namespace

std::string run_key(std::size_t run) {
  return fmt::format("<span class=\"key run-{}\"></span>", run);
}

std::string title_among(std::span<const RunReport> reports, std::size_t run) {
  const std::string title = run_title(reports[run].recording.run);
  const auto same = [&](const RunReport& other) { return run_title(other.recording.run) == title; };
  return std::ranges::count_if(reports, same) > 1
             ? fmt::format("{} ({})", title, short_id(reports[run].recording.run))
             : title;
}

std::string charts_html(const std::vector<Chart>& charts, std::span<const RunReport> reports) {
  const Span span = shown_span(reports);
  std::string out = controls(charts, reports);
  for (std::size_t begin = 0; begin < charts.size();) {
    std::size_t end = begin;
    while (end < charts.size() && charts[end].group == charts[begin].group) ++end;
    out += group_html(charts, begin, end, span);
    begin = end;
  }
  return out;
}

}  // namespace plimsoll::report
