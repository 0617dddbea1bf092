#include <algorithm>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "report/advice_report.hpp"
#include "report/paragraph.hpp"
#include "report/run_report.hpp"
#include "report/run_title.hpp"

namespace plimsoll::report {
namespace {

using diagnose::AverageRow;
using diagnose::Finding;
using diagnose::Laps;
using diagnose::Recording;
using diagnose::Shown;

constexpr std::size_t kMostStepRows = 20;
constexpr std::size_t kMostReason = 2000;  ///< bytes of the last lines of a run that failed

/// "label   text", the text wrapped under itself.
std::string fact_line(std::string_view label, std::string_view value, std::size_t width) {
  constexpr std::size_t kColumn = 15;
  const std::string wrapped = wrap(value, width, std::string(kColumn, ' '));
  return fmt::format("  {:<{}}", label, kColumn - 2) + wrapped.substr(kColumn);
}

std::string finding_text(const Finding& finding, std::size_t width, const TextStyle& style) {
  std::string out = bold(finding.title, style) + "\n" + wrap(finding.text, width, "  ");
  for (const std::string& advice : finding.advice) out += "  → " + wrap(advice, width, "    ").substr(4);
  return out;
}

/// What was sampled and was never anything is named, not listed; the command's own metrics are always listed.
bool is_zero(const AverageRow& row) {
  return row.shown != Shown::plain && row.over.low == 0 && row.over.high == 0 && row.total.value_or(0) == 0;
}

std::string averages_text(const RunReport& report, const TextStyle& style) {
  if (report.averages.empty()) return "";
  Table table{
      {{"", Align::left, true}, {"Mean", Align::right}, {"Lowest", Align::right}, {"Highest", Align::right}},
      {}};
  std::string zero;
  for (const AverageRow& row : report.averages) {
    if (is_zero(row)) {
      zero += (zero.empty() ? "Zero throughout: " : ", ") + row.label;
      continue;
    }
    const auto shown = [&](double value) { return value_text(value, row.shown, row.unit); };
    if (row.total)
      table.rows.push_back({row.label, fmt::format("{} in all", shown(*row.total)), "", ""});
    else
      table.rows.push_back({row.label, shown(row.over.mean), shown(row.over.low), shown(row.over.high)});
  }
  return fmt::format("\n{}\n", bold(fmt::format("Averages over {} to {}", text(Seconds(report.span.from)),
                                                text(Seconds(report.span.to))),
                                    style)) +
         to_text(table, style) + (zero.empty() ? "" : wrap(zero + ".", text_width(style), ""));
}

std::string laps_text(const Laps& laps, std::string_view what, const TextStyle& style) {
  if (laps.rows.empty()) return "";
  std::string out = "\n" + to_text(lap_table(laps, what), style);
  const std::string notes = lap_notes(laps, lower_case(what));
  return notes.empty() ? out : out + wrap(notes, text_width(style), "");
}

/// The last lines of a run that failed, as they were printed.
std::string reason_text(const Recording& recording, const TextStyle& style) {
  if (succeeded(recording)) return "";
  std::string reason = recording.tag("plimsoll.reason").value_or(recording.log_tail);
  if (reason.empty()) return "";
  if (reason.size() > kMostReason) reason = "…" + reason.substr(reason.size() - kMostReason);
  std::string out = "\n" + bold("Its last lines", style) + "\n";
  std::string_view rest = reason;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    out += wrap(printable(rest.substr(0, end)), text_width(style), "  ");
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return out;
}

std::string one_text(const RunReport& report, const TextStyle& style) {
  const std::size_t width = text_width(style);
  const Recording& r = report.recording;
  const std::string outcome = outcome_text(r);
  std::string out = paragraph(fmt::format("{} ({}): {}", bold(run_title(r.run), style), short_id(r.run),
                                          succeeded(r) ? green(outcome, style)
                                          : r.ended    ? red(outcome, style)
                                                       : outcome),
                              style);
  for (const Fact& fact : facts_of(report))
    if (fact.label != "run") out += fact_line(fact.label, fact.text, width);
  out += reason_text(r, style);
  if (report.verdict.outcome) out += "\n" + finding_text(*report.verdict.outcome, width, style);
  out += "\n" + finding_text(report.verdict.main, width, style);
  for (const Finding& finding : report.verdict.findings) out += "\n" + finding_text(finding, width, style);
  out += fmt::format("\n{}\n", bold("What was wasted", style)) + wrap(report.verdict.waste.text, width, "  ");
  if (report.verdict.utilization) out += "\n" + finding_text(*report.verdict.utilization, width, style);
  out += averages_text(report, style);
  out += laps_text(report.epochs.rows.size() > 1 ? report.epochs : report.steps,
                   report.epochs.rows.size() > 1 ? "Epoch" : "Step", style);
  if (!report.improvements.empty())
    out += fmt::format("\n{}\n", bold("What would make it faster", style)) +
           advice_text(report.improvements, style);
  if (r.metrics_left_out > 0) out += fmt::format("\n{} metrics more were left out.\n", r.metrics_left_out);
  return out;
}

RunReport with_few_rows(const RunReport& report) {
  RunReport out = report;
  if (out.epochs.rows.size() > kMostStepRows) out.epochs = epoch_laps(out.recording, kMostStepRows);
  if (out.steps.rows.size() > kMostStepRows)
    out.steps = step_laps(out.recording, out.steps.metric, kMostStepRows);
  return out;
}

}  // namespace

std::string run_report_text(std::span<const RunReport> reports, const TextStyle& style) {
  std::string out;
  if (reports.size() > 1) out += to_text(comparison_table(reports), style) + "\n";
  for (std::size_t i = 0; i < reports.size(); ++i) {
    if (i > 0) out += "\n\n";
    out += one_text(with_few_rows(reports[i]), style);
  }
  return out;
}

}  // namespace plimsoll::report
