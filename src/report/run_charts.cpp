#include "report/run_charts.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/printable.hpp"

namespace plimsoll::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostShown = 2000;
constexpr std::size_t kRunsInFull = 4;
/// Clocks held down by power or heat, as NVML numbers the reasons; the others are idleness and settings.
constexpr std::uint64_t kHeldDown = 0x4 | 0x8 | 0x20 | 0x40 | 0x80;

/// The samples that share time with the span; those of the command stand for a moment.
Series within(const Series& series, Span span) {
  Series out = series;
  std::erase_if(out.samples, [&](const Sample& s) { return s.span.to < span.from || s.span.to > span.to; });
  return out;
}

/// Reasons as they are drawn: 1 where the clocks were held down.
void flags_to_share(Series& series) {
  for (Sample& s : series.samples) {
    const bool held =
        s.value >= 0 && s.value < 0x1p53 && (static_cast<std::uint64_t>(s.value) & kHeldDown) != 0;
    s.value = s.low = s.high = held ? 1 : 0;
  }
}

ChartLine line_of(const std::string& metric, const Series& series, std::size_t run, const RunReport& report,
                  std::size_t most) {
  ChartLine line{run, run, metric, printable(metric, 80), false, reduced(within(series, report.span), most)};
  if (const KnownSeries* known = find_series(metric)) {
    line.label = known->label;
    line.secondary = known->secondary;
    if (known->kind == SeriesKind::flags) flags_to_share(line.series);
  }
  const std::optional<unsigned> number = series_number(metric);
  if (number && metric.contains("gpu/") && report.figures.gpus.size() > 1)
    line.label += fmt::format(", GPU {}", *number);
  return line;
}

/// The first run's device and cores: what a line may not pass.
void add_limits(Chart& chart, std::span<const RunReport> reports) {
  if (reports.empty() || chart.lines.empty()) return;
  const RunFigures& figures = reports[chart.lines.front().run].figures;
  const std::string_view first = chart.lines.front().metric;
  if (first.starts_with("system/") && chart.title == "GPU memory" && !figures.gpus.empty() &&
      figures.gpus.front().memory_bytes)
    chart.limits.push_back({*figures.gpus.front().memory_bytes,
                            "the GPU has " + value_text(*figures.gpus.front().memory_bytes, Shown::bytes)});
  if (chart.shown == Shown::cores && figures.host.cores)
    chart.limits.push_back(
        {*figures.host.cores, fmt::format("the run may use {:.4g} cores", *figures.host.cores)});
}

/// Of a single run the colours are free to tell its GPUs apart.
void color_gpus(std::vector<Chart>& charts, const RunReport& report) {
  for (Chart& chart : charts)
    for (ChartLine& line : chart.lines) {
      const std::optional<unsigned> number = series_number(line.metric);
      if (!number || !line.metric.contains("gpu/")) continue;
      const auto found = std::ranges::find(report.figures.gpus, *number, &GpuFigures::gpu);
      if (found != report.figures.gpus.end())
        line.color = static_cast<std::size_t>(found - report.figures.gpus.begin());
    }
}

/// What has nothing beside it is the chart's subject.
void promote(Chart& chart) {
  if (std::ranges::all_of(chart.lines, &ChartLine::secondary))
    for (ChartLine& line : chart.lines) line.secondary = false;
}

void add_known(std::span<const RunReport> reports, std::size_t most, std::vector<Chart>& out) {
  for (const KnownSeries& known : known_series()) {
    for (std::size_t run = 0; run < reports.size(); ++run)
      for (const auto& [metric, series] : reports[run].recording.series) {
        if (find_series(metric) != &known) continue;
        ChartLine line = line_of(metric, series, run, reports[run], most);
        if (line.series.samples.empty()) continue;
        const auto same = [&](const Chart& c) { return c.title == known.chart; };
        auto chart = std::ranges::find_if(out, same);
        if (chart == out.end())
          chart = out.insert(out.end(), Chart{known.group,
                                              std::string(known.chart),
                                              known.shown == Shown::flags ? Shown::share : known.shown,
                                              "",
                                              {}});
        chart->lines.push_back(std::move(line));
      }
  }
}

void add_own(std::span<const RunReport> reports, std::size_t most, std::vector<Chart>& out) {
  const std::size_t first = out.size();
  for (std::size_t run = 0; run < reports.size(); ++run)
    for (const auto& [metric, series] : reports[run].recording.series) {
      if (!is_own_metric(metric)) continue;
      ChartLine line = line_of(metric, series, run, reports[run], most);
      if (line.series.samples.empty()) continue;
      const auto begin = out.begin() + static_cast<std::ptrdiff_t>(first);
      auto chart =
          std::find_if(begin, out.end(), [&](const Chart& c) { return c.lines.front().metric == metric; });
      if (chart == out.end())
        chart = out.insert(
            out.end(), Chart{SeriesGroup::metric, line.label, Shown::plain, printable(series.unit, 20), {}});
      chart->lines.push_back(std::move(line));
    }
}

/// Six digits are more than a chart shows.
Json short_number(double value) {
  if (!std::isfinite(value)) return {};
  return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr);
}

Json series_json(const ChartLine& line) {
  Json times = Json::array(), values = Json::array(), lows = Json::array(), highs = Json::array();
  Json steps = Json::array(), breaks = Json::array();
  std::int64_t time = 0, step = 0;
  bool joined = false;
  const std::vector<Sample>& samples = line.series.samples;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const Sample& s = samples[i];
    // Milliseconds, as differences; what is further than a double's whole numbers is no time of a run.
    const auto now = static_cast<std::int64_t>(std::min(s.span.to * 1000, 0x1p52));
    times.push_back(now - time);
    time = now;
    values.push_back(short_number(s.value));
    lows.push_back(short_number(s.low));
    highs.push_back(short_number(s.high));
    const std::int64_t known_step =
        std::clamp<std::int64_t>(s.step, -(std::int64_t{1} << 52), std::int64_t{1} << 52);
    steps.push_back(known_step - step);
    step = known_step;
    joined = joined || s.points > 1;
    if (i > 0 && s.span.from > samples[i - 1].span.to) breaks.push_back(i);
  }
  Json out = {{"t", std::move(times)}, {"v", std::move(values)}};
  if (joined && line.series.kind != SeriesKind::counter) {
    out["l"] = std::move(lows);
    out["h"] = std::move(highs);
  }
  if (line.series.kind == SeriesKind::own) out["s"] = std::move(steps);
  if (!breaks.empty()) out["b"] = std::move(breaks);
  out["p"] = short_number(line.series.period);
  return out;
}

std::string_view kind_name(SeriesKind kind) {
  switch (kind) {
    case SeriesKind::gauge: return "gauge";
    case SeriesKind::counter: return "counter";
    case SeriesKind::flags: return "flags";
    case SeriesKind::own: return "own";
  }
  return "";
}

}  // namespace

std::size_t most_samples_shown(std::size_t runs) {
  return kMostShown * kRunsInFull / std::max(runs, kRunsInFull);
}

std::vector<Chart> charts_of(std::span<const RunReport> reports) {
  std::vector<Chart> out;
  const std::size_t most = most_samples_shown(reports.size());
  add_known(reports, most, out);
  for (Chart& chart : out) {
    promote(chart);
    add_limits(chart, reports);
  }
  if (reports.size() == 1) color_gpus(out, reports.front());
  add_own(reports, most, out);
  // The epochs say least: after all others.
  std::ranges::stable_sort(out, {}, [](const Chart& c) { return std::pair(c.group, c.title == "epoch"); });
  return out;
}

Span shown_span(std::span<const RunReport> reports) {
  if (reports.empty()) return {0, 1};
  Span out = reports.front().span;
  for (const RunReport& report : reports)
    out = {std::min(out.from, report.span.from), std::max(out.to, report.span.to)};
  if (out.seconds() <= 0) out.to = out.from + 1;
  return out;
}

Json charts_json(std::span<const Chart> charts, std::span<const RunReport> reports) {
  Json out;
  const Span span = shown_span(reports);
  out["from"] = short_number(span.from);
  out["to"] = short_number(span.to);
  out["runs"] = Json::array();
  for (const RunReport& report : reports)
    out["runs"].push_back({{"id", short_id(report.recording.run)}, {"title", run_title(report.recording)}});
  out["charts"] = Json::array();
  for (const Chart& chart : charts) {
    Json one = {{"group", name(chart.group)},
                {"title", chart.title},
                {"shown", name(chart.shown)},
                {"unit", chart.unit}};
    one["limits"] = Json::array();
    for (const ChartLimit& limit : chart.limits) one["limits"].push_back({limit.value, limit.label});
    one["lines"] = Json::array();
    for (const ChartLine& line : chart.lines) {
      Json of_line = {
          {"run", line.run},     {"color", line.color},     {"metric", printable(line.metric)},
          {"label", line.label}, {"faint", line.secondary}, {"kind", kind_name(line.series.kind)}};
      of_line.update(series_json(line));
      one["lines"].push_back(std::move(of_line));
    }
    out["charts"].push_back(std::move(one));
  }
  return out;
}

}  // namespace plimsoll::report
