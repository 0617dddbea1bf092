#include "report/run_report.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "diagnose/series_catalogue.hpp"
#include "report/advice_report.hpp"
#include "report/run_title.hpp"

namespace plimsoll::report {
namespace {

using diagnose::GpuFigures;
using diagnose::kLongestLabel;
using diagnose::Lap;
using diagnose::Laps;
using diagnose::Recording;
using diagnose::RunFigures;
using diagnose::Shown;

constexpr std::size_t kLongestFact = 400;
constexpr std::string_view kUnknown = "–";

/// The command's words as a person would type them; other text as it is.
std::optional<std::string> command_text(const Recording& recording) {
  const std::vector<std::string> words = command_words(recording.run);
  return words.empty() ? recording.tag("plimsoll.command") : command_line(words);
}

std::string gpu_fact(const GpuFigures& gpu, bool several) {
  std::string out = gpu.name.empty() ? gpu_text(gpu.gpu) : gpu.name;
  if (several && !gpu.name.empty()) out = fmt::format("{}: {}", gpu.gpu.number, out);
  if (gpu.memory_bytes) out += fmt::format(", {}", value_text(*gpu.memory_bytes, Shown::bytes));
  return out;
}

/// What was predicted, and what happened.
std::string together_text(const diagnose::Together& together) {
  std::string out = together.sharing;
  if (!together.with.empty()) {
    out += ", with";
    for (const std::string& id : together.with) out += " " + id.substr(0, 8);
  }
  out += fmt::format(": predicted {:.2f} of its speed alone ({:.2f}–{:.2f})", together.predicted,
                     together.low, together.high);
  if (const auto speed = together.speed())
    return out +
           fmt::format(", measured {:.2f} over {}", *speed, text(Seconds(together.measured->span.seconds())));
  return out + ", not measured: not all of them told steps at the same time";
}

std::string number_range(const Lap& lap) {
  return lap.first == lap.last ? fmt::format("{}", lap.first) : fmt::format("{}–{}", lap.first, lap.last);
}

std::string cell(const std::optional<double>& value, Shown shown) {
  return value ? value_text(*value, shown) : std::string(kUnknown);
}

/// Nothing where one of them does not know.
std::optional<double> mean_over_gpus(const RunFigures& figures, std::optional<double> GpuFigures::* what) {
  double sum = 0;
  for (const GpuFigures& gpu : figures.gpus) {
    if (!(gpu.*what)) return std::nullopt;
    sum += *(gpu.*what);
  }
  return figures.gpus.empty() ? std::nullopt : std::optional(sum / static_cast<double>(figures.gpus.size()));
}

void drop_unknown_columns(Table& table) {
  for (std::size_t c = table.columns.size(); c-- > 0;) {
    if (!std::ranges::all_of(table.rows, [c](const auto& row) { return row[c] == kUnknown; })) continue;
    const auto at = static_cast<std::ptrdiff_t>(c);
    table.columns.erase(table.columns.begin() + at);
    for (auto& row : table.rows) row.erase(row.begin() + at);
  }
}

}  // namespace

RunReport report_of(Recording recording, const ReportOptions& options, std::span<const Recording> others) {
  RunReport out;
  out.together = diagnose::together_of(recording, others);
  out.target = learn::run_target(recording);
  const double from = std::max(0.0, options.from.value_or(0));
  out.span = {from, options.to.value_or(std::max(recording.seconds, last_told(recording)))};
  out.figures = figures_of(recording, {from, options.to.value_or(recording.seconds)});
  out.verdict = verdict_of(recording, out.figures);
  out.improvements = diagnose::improvements_of(out.figures, out.verdict, gpu_ratios(out.figures));
  out.averages = averages_of(recording, out.span, out.figures.span);
  out.epochs = epoch_laps(recording, options.most_rows);
  if (const std::optional<std::string> metric = step_metric(recording))
    out.steps = step_laps(recording, *metric, options.most_rows);
  out.recording = std::move(recording);
  return out;
}

std::string outcome_text(const Recording& recording) {
  std::string outcome = outcome_of(recording);
  if (recording.seconds <= 0) return outcome;
  return fmt::format("{} {} {}", outcome, recording.ended ? "after" : "for",
                     text(Seconds(recording.seconds)));
}

std::vector<Fact> facts_of(const RunReport& report) {
  const Recording& r = report.recording;
  std::vector<Fact> out;
  const auto add = [&](std::string_view label, const std::optional<std::string>& value) {
    if (value && !value->empty()) out.push_back({std::string(label), printable(*value, kLongestFact)});
  };
  add("run", r.run.id);
  add("experiment", r.run.experiment);
  add("workload", r.tag("plimsoll.workload"));
  add("command", command_text(r));
  for (const GpuFigures& gpu : report.figures.gpus) add("GPU", gpu_fact(gpu, report.figures.gpus.size() > 1));
  if (report.target) add("target", run_target_text(*report.target));
  add("mode", r.tag("plimsoll.mode"));
  if (const std::optional<std::string> percentage = r.tag("plimsoll.mps.percentage"))
    add("MPS threads", fmt::format("{} %", *percentage));
  if (report.together) add("beside", together_text(*report.together));
  std::string host = r.tag("plimsoll.host").value_or("");
  if (report.figures.host.cores)
    host += fmt::format("{}{:.4g} cores", host.empty() ? "" : ", ", *report.figures.host.cores);
  add("host", host);
  add("exit code", r.tag("plimsoll.exit_code"));
  if (report.span.from > 0 || report.span.to < r.seconds)
    add("looked at", fmt::format("{} to {}", text(Seconds(report.span.from)), text(Seconds(report.span.to))));
  return out;
}

Table comparison_table(std::span<const RunReport> reports) {
  using enum Importance;
  Table table{{{"Run", Align::left, true},
               {"Outcome", Align::left, false, telling},
               {"Time", Align::right, false, telling},
               {"SM activity", Align::right},
               {"Utilization", Align::right, false, detail},
               {"GPU energy", Align::right},
               {"Near-idle", Align::right, false, detail},
               {"Processor", Align::right},
               {"Bottleneck", Align::left, false, telling}},
              {}};
  for (const RunReport& report : reports)
    table.rows.push_back(
        {fmt::format("{} ({})", run_title(report.recording.run), short_id(report.recording.run)),
         outcome_of(report.recording), text(Seconds(report.recording.seconds)),
         cell(mean_over_gpus(report.figures, &GpuFigures::mean_sm_activity), Shown::share),
         cell(mean_over_gpus(report.figures, &GpuFigures::mean_utilization), Shown::share),
         cell(report.verdict.waste.joules, Shown::joules),
         cell(report.verdict.waste.idle_seconds, Shown::seconds), cell(report.figures.host.cpu, Shown::cores),
         std::string(name(report.verdict.limiter))});
  drop_unknown_columns(table);
  return table;
}

Table lap_table(const Laps& laps, std::string_view what) {
  Table out;
  const auto any = [&](auto of) { return std::ranges::any_of(laps.rows, of); };
  const bool renumbered = any([](const Lap& s) { return s.recorded && *s.recorded != s.last; });
  const bool valued = any([](const Lap& s) { return s.value.has_value(); });
  const bool active = any([](const Lap& s) { return s.sm_activity.has_value(); });
  const bool counted = any([](const Lap& s) { return s.joules.has_value(); });
  const bool held = any([](const Lap& s) { return s.gpu_memory.has_value(); });
  const bool ran = any([](const Lap& s) { return s.cpu.has_value(); });
  out.columns.push_back({std::string(what), Align::right});
  if (renumbered) out.columns.push_back({"Recorded as", Align::right});
  out.columns.push_back({"Begins", Align::right});
  out.columns.push_back({"Takes", Align::right});
  if (valued) out.columns.push_back({printable(laps.metric, kLongestLabel), Align::right, true});
  if (active) out.columns.push_back({"SM activity", Align::right});
  if (counted) out.columns.push_back({"Energy", Align::right});
  if (held) out.columns.push_back({"GPU memory", Align::right});
  if (ran) out.columns.push_back({"Processor", Align::right});
  for (const Lap& s : laps.rows) {
    std::vector<std::string> row = {number_range(s)};
    if (renumbered) row.push_back(s.recorded ? fmt::format("{}", *s.recorded) : "–");
    row.push_back(text(Seconds(s.span.from)));
    row.push_back(text(Seconds(s.span.seconds())));
    if (valued) row.push_back(cell(s.value, Shown::plain));
    const std::string mark = s.coarse ? "≈ " : s.covered > 0 && s.covered < 0.9 ? "part " : "";
    if (active) row.push_back(s.sm_activity ? mark + cell(s.sm_activity, Shown::share) : "–");
    if (counted) row.push_back(cell(s.joules, Shown::joules));
    if (held) row.push_back(cell(s.gpu_memory, Shown::bytes));
    if (ran) row.push_back(s.cpu && !active ? mark + cell(s.cpu, Shown::cores) : cell(s.cpu, Shown::cores));
    out.rows.push_back(std::move(row));
  }
  return out;
}

std::string lap_notes(const Laps& laps, std::string_view what) {
  std::string out;
  if (static_cast<std::int64_t>(laps.rows.size()) < laps.count)
    out += fmt::format("{} {}s, joined to {} rows. ", laps.count, what, laps.rows.size());
  const auto any = [&](auto of) { return std::ranges::any_of(laps.rows, of); };
  if (any([](const Lap& s) { return s.coarse; }))
    out +=
        "≈: shorter than the time between two samples; the figures are averages over the samples around it. ";
  if (any([](const Lap& s) { return !s.coarse && s.covered > 0 && s.covered < 0.9; }))
    out += "part: not all of it was sampled. ";
  if (any([](const Lap& s) { return !s.sm_activity && !s.joules && !s.cpu; })) out += "–: not sampled. ";
  if (laps.of_run) out += "Activity, energy and memory are this run's part of its GPUs. ";
  if (!out.empty()) out.pop_back();
  return out;
}

}  // namespace plimsoll::report
