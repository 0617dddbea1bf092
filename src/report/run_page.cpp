#include "report/run_page.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "report/advice_report.hpp"
#include "report/html.hpp"
#include "report/run_charts.hpp"
#include "report/run_title.hpp"

namespace plimsoll::report {
namespace {

using diagnose::AverageRow;
using diagnose::Evidence;
using diagnose::Finding;
using diagnose::Laps;
using diagnose::Recording;
using diagnose::Sample;
using diagnose::Threshold;
using diagnose::thresholds;

constexpr std::size_t kMostTail = 8000;  ///< bytes of the last lines

/// Text as HTML in which a line does not break between a number and its unit.
std::string prose(std::string_view text) {
  const std::string escaped = escape_html(text);
  std::string out;
  for (std::size_t i = 0; i < escaped.size(); ++i) {
    const bool after_digit = i > 0 && escaped[i - 1] >= '0' && escaped[i - 1] <= '9';
    constexpr std::size_t kLongestUnit = 3;
    const std::size_t end = std::min(escaped.find_first_of(" .,:;)", i + 1), escaped.size());
    if (escaped[i] == ' ' && after_digit && end - i - 1 <= kLongestUnit)
      out += "&nbsp;";
    else
      out += escaped[i];
  }
  return out;
}

std::string paragraph(std::string_view text, std::string_view kind = "") {
  if (text.empty()) return "";
  return fmt::format("<p{}>{}</p>\n", kind.empty() ? "" : fmt::format(" class=\"{}\"", kind), prose(text));
}

std::string advice_list(const std::vector<std::string>& advice) {
  if (advice.empty()) return "";
  std::string out = "<ul class=\"advice\">";
  for (const std::string& one : advice) out += fmt::format("<li>{}</li>", escape_html(one));
  return out + "</ul>\n";
}

std::string evidence_list(const std::vector<Evidence>& evidence) {
  if (evidence.empty()) return "";
  std::string out = "<details><summary>The figures that this rests on</summary><table><tbody>";
  for (const Evidence& e : evidence)
    out += fmt::format("<tr><td>{}</td><td class=\"number\">{}</td><td>{}</td></tr>", escape_html(e.label),
                       escape_html(value_text(e.value, e.shown)),
                       e.threshold ? fmt::format("line at {} (<a href=\"#line-{}\">{}</a>)",
                                                 value_text(e.threshold->value, e.shown), e.threshold->name,
                                                 e.threshold->name)
                                   : "");
  return out + "</tbody></table></details>\n";
}

std::string finding_html(const Finding& finding, std::string_view heading) {
  return fmt::format("<{0}>{1}</{0}>\n", heading, escape_html(finding.title)) + paragraph(finding.text) +
         advice_list(finding.advice);
}

/// Utilization above SM activity, as bars of the same scale.
std::string utilization_bars(const Finding& finding) {
  std::string out = fmt::format("<h3>{}</h3>\n<table class=\"bars\"><tbody>", escape_html(finding.title));
  for (const Evidence& e : finding.evidence)
    out += fmt::format(
        "<tr><th>{}</th><td><svg viewBox=\"0 0 100 6\" preserveAspectRatio=\"none\" "
        "aria-hidden=\"true\"><rect "
        "class=\"trough\" width=\"100\" height=\"6\"/><rect class=\"bar\" width=\"{:.1f}\" "
        "height=\"6\"/></svg></td><td class=\"number\">{}</td></tr>",
        escape_html(e.label), 100 * std::clamp(e.value, 0.0, 1.0), value_text(e.value, e.shown));
  return out + "</tbody></table>\n" + paragraph(finding.text);
}

std::string last_lines(const Recording& recording) {
  std::string tail = recording.tag("plimsoll.reason").value_or(recording.log_tail);
  if (tail.empty()) return "";
  if (tail.size() > kMostTail) tail = tail.substr(tail.size() - kMostTail);
  std::string out =
      fmt::format("<details{}><summary>Its last lines</summary><pre>", succeeded(recording) ? "" : " open");
  std::string_view rest = tail;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    out += escape_html(rest.substr(0, end)) + "\n";
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return out + "</pre></details>\n";
}

std::string facts_html(const RunReport& report) {
  std::string out = "<dl>";
  for (const Fact& fact : facts_of(report))
    out += fmt::format("<dt>{}</dt><dd>{}</dd>", escape_html(fact.label), escape_html(fact.text));
  return out + "</dl>\n";
}

std::string findings_html(const RunReport& report) {
  std::string out = "<div class=\"findings\">\n<section>\n<h3>What was wasted</h3>\n" +
                    paragraph(report.verdict.waste.text) + "</section>\n";
  if (report.verdict.utilization)
    out += "<section>\n" + utilization_bars(*report.verdict.utilization) + "</section>\n";
  for (const Finding& finding : report.verdict.findings)
    out += "<section>\n" + finding_html(finding, "h3") + "</section>\n";
  if (!report.improvements.empty())
    out += "<section>\n<h3>What would make it faster</h3>\n" + advice_html(report.improvements) +
           paragraph("Gains are reckoned from what was sampled: plimsoll advise --try measures.", "note") +
           "</section>\n";
  out += "</div>\n";
  if (const std::size_t more = report.recording.metrics_left_out; more > 0)
    out += paragraph(fmt::format("{} metrics more were left out.", more), "note");
  return out;
}

std::string outcome_html(const Recording& recording) {
  return fmt::format("<span class=\"outcome {}\">{}</span>",
                     succeeded(recording) ? "good"
                     : recording.ended    ? "bad"
                                          : "open",
                     escape_html(outcome_text(recording)));
}

std::string verdict_html(const RunReport& report) {
  std::string out;
  if (report.verdict.outcome)
    out +=
        "<section class=\"verdict failed\">\n" + finding_html(*report.verdict.outcome, "h3") + "</section>\n";
  out += "<section class=\"verdict\">\n" + finding_html(report.verdict.main, "h3") +
         evidence_list(report.verdict.main.evidence) + "</section>\n";
  return out + last_lines(report.recording);
}

std::string one_run_html(const RunReport& report) {
  return fmt::format(
      "<header><h1>{} {}</h1></header>\n<main>\n<div class=\"one\">\n<div>\n{}{}</div>\n{}</div>\n",
      escape_html(run_title(report.recording.run)), outcome_html(report.recording), verdict_html(report),
      findings_html(report), facts_html(report));
}

/// "3 runs of train.py", where all are of one script.
std::string several_title(std::span<const RunReport> reports) {
  std::string script;
  for (const RunReport& report : reports) {
    const std::string line = script_line(command_words(report.recording.run));
    const std::string word = line.substr(0, line.find(' '));
    if (word.empty() || (!script.empty() && word != script)) return fmt::format("{} runs", reports.size());
    script = word;
  }
  return script.empty() ? fmt::format("{} runs", reports.size())
                        : fmt::format("{} runs of {}", reports.size(), printable(script, 80));
}

/// Side by side the verdicts stand together; the rest is a click away.
std::string several_runs_html(std::span<const RunReport> reports) {
  std::string out = fmt::format("<header><h1>{}</h1></header>\n<main>\n{}<div class=\"several\">\n",
                                escape_html(several_title(reports)), table_html(comparison_table(reports)));
  for (std::size_t run = 0; run < reports.size(); ++run)
    out += fmt::format(
        "<article>\n<h2>{}{} {}</h2>\n{}<details><summary>What was wasted, and "
        "more</summary>\n{}{}</details>\n</article>\n",
        run_key(run), escape_html(title_among(reports, run)), outcome_html(reports[run].recording),
        verdict_html(reports[run]), findings_html(reports[run]), facts_html(reports[run]));
  return out + "</div>\n";
}

/// Metrics down, runs across; the script writes the cells anew for the span that is shown.
std::string averages_html(std::span<const RunReport> reports) {
  std::vector<const AverageRow*> rows;
  for (const RunReport& report : reports)
    for (const AverageRow& row : report.averages)
      if (std::ranges::none_of(rows, [&](const AverageRow* r) { return r->metric == row.metric; }))
        rows.push_back(&row);
  if (rows.empty()) return "";
  std::string out =
      "<section>\n<h2>Averages</h2>\n<p class=\"note\"><span id=\"averages-span\">Over the whole.</span> "
      "Every "
      "point of the command's own metrics counts the same; what was sampled is weighted by time, and times "
      "without samples are left out.</p>\n<div class=\"wide\"><table id=\"averages\"><thead><tr><th></th>";
  for (std::size_t run = 0; run < reports.size(); ++run)
    out +=
        fmt::format("<th class=\"number\">{}{}</th>", run_key(run), escape_html(title_among(reports, run)));
  out += "</tr></thead><tbody>\n";
  for (const AverageRow* row : rows) {
    out += fmt::format("<tr data-metric=\"{}\"><th title=\"{}\">{}</th>", escape_html(row->metric),
                       escape_html(row->source), escape_html(row->label));
    for (const RunReport& report : reports) {
      const auto found = std::ranges::find(report.averages, row->metric, &AverageRow::metric);
      std::string text = "–", range;
      if (found != report.averages.end()) {
        const auto shown = [&](double v) { return value_text(v, found->shown, found->unit); };
        text = found->total ? shown(*found->total) + " in all" : shown(found->over.mean);
        if (!found->total) range = fmt::format("{} – {}", shown(found->over.low), shown(found->over.high));
      }
      out += fmt::format("<td class=\"number\"><b>{}</b> <small>{}</small></td>", escape_html(text),
                         escape_html(range));
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n</section>\n";
}

std::string laps_html(std::span<const RunReport> reports, std::size_t run, const Laps& laps,
                      std::string_view what, bool open) {
  if (laps.rows.empty()) return "";
  return fmt::format("<details{}><summary>{}{}: {} {}{}</summary>\n", open ? " open" : "", run_key(run),
                     escape_html(title_among(reports, run)), laps.count, lower_case(what),
                     laps.count == 1 ? "" : "s") +
         paragraph(lap_notes(laps, lower_case(what)), "note") + table_html(lap_table(laps, what)) +
         "</details>\n";
}

std::string all_steps_html(std::span<const RunReport> reports) {
  std::string out;
  for (std::size_t run = 0; run < reports.size(); ++run) {
    const bool open = reports.size() == 1;
    out += laps_html(reports, run, reports[run].epochs, "Epoch", open);
    out += laps_html(reports, run, reports[run].steps, "Step", false);
  }
  return out.empty() ? out : "<section>\n<h2>Epochs and steps</h2>\n" + out + "</section>\n";
}

std::string thresholds_html() {
  std::string out = "<details><summary>The lines that the verdicts are drawn by</summary><table><tbody>\n";
  for (const Threshold& t : thresholds())
    out += fmt::format("<tr id=\"line-{0}\"><th>{0}</th><td class=\"number\">{1:.2f}</td><td>{2}</td></tr>\n",
                       t.name, t.value, escape_html(t.reason));
  return out + "</tbody></table></details>\n";
}

std::string reduction_note(const std::vector<Chart>& charts, std::size_t runs) {
  const bool joined = std::ranges::any_of(charts, [](const Chart& chart) {
    return std::ranges::any_of(chart.lines, [](const ChartLine& line) {
      return std::ranges::any_of(line.series.samples, [](const Sample& s) { return s.points > 1; });
    });
  });
  if (!joined) return "Charts show every sample that was stored.";
  return fmt::format(
      "Long histories are joined to at most {} samples of equal time for each line: a line shows their mean, "
      "the band around it their lowest and highest. --from and --to show a part in more detail.",
      most_samples_shown(runs));
}

}  // namespace

std::string run_page(std::span<const RunReport> reports) {
  const std::vector<Chart> charts = charts_of(reports);
  std::size_t colors = reports.size();
  for (const Chart& chart : charts)
    for (const ChartLine& line : chart.lines) colors = std::max(colors, line.color + 1);
  std::string out = page_head(reports.size() == 1 ? run_title(reports.front().recording.run) + " – Plimsoll"
                                                  : several_title(reports) + " – Plimsoll",
                              "run.css", color_styles(colors));
  out += reports.size() == 1 ? one_run_html(reports.front()) : several_runs_html(reports);
  if (!charts.empty()) out += charts_html(charts, reports);
  out += averages_html(reports) + all_steps_html(reports);
  out += "</main>\n<footer>\n" + thresholds_html() +
         paragraph(reduction_note(charts, reports.size()), "note") + "</footer>\n";
  out += fmt::format("<script type=\"application/json\" id=\"data\">{}</script>\n",
                     script_json(charts_json(charts, reports)));
  out += fmt::format("<script>\n{}</script>\n</body>\n</html>\n", page_part("run.js"));
  return out;
}

}  // namespace plimsoll::report
