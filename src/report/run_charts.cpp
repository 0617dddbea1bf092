#include "report/run_charts.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "store/host_series.hpp"

namespace plimsoll::report {
namespace {

using diagnose::find_series;
using diagnose::GpuFigures;
using diagnose::kLongestLabel;
using diagnose::known_series;
using diagnose::KnownSeries;
using diagnose::own_host_first;
using diagnose::place_text;
using diagnose::RunFigures;
using diagnose::Sample;
using diagnose::Series;
using diagnose::series_number;
using diagnose::SeriesGroup;
using diagnose::SeriesKind;
using diagnose::Shown;
using diagnose::Span;
using store::is_own_metric;

constexpr std::size_t kMostShown = 2000;
constexpr std::size_t kRunsInFull = 4;
/// Clocks held down by power or heat, as NVML numbers the reasons; the others are idleness and settings.
constexpr std::uint64_t kHeldDown = 0x4 | 0x8 | 0x20 | 0x40 | 0x80;

/// The samples that share time with the span; those of the command and of counters stand for a moment. What
/// does not change is sampled seldom: a gauge's last sample may reach far over the end.
Series within(const Series& series, Span span) {
  Series out = series;
  if (series.kind == SeriesKind::gauge || series.kind == SeriesKind::flags)
    for (Sample& s : out.samples)
      if (s.span.from < span.to) s.span.to = std::min(s.span.to, span.to);
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

/// A counter of the machine counts from before the run; it is drawn since the run's start.
void count_from_zero(Series& series, double first) {
  for (Sample& s : series.samples) s.value -= first, s.low -= first, s.high -= first;
}

LineShape shape_of(const Series& series, const KnownSeries* known) {
  if (series.kind == SeriesKind::counter) return LineShape::after;
  if (series.kind == SeriesKind::own) return series.counts ? LineShape::after : LineShape::straight;
  return series.kind == SeriesKind::flags || (known && known->shown == Shown::count) ? LineShape::before
                                                                                     : LineShape::straight;
}

bool several_gpus(std::span<const RunReport> reports) {
  return std::ranges::any_of(reports, [](const RunReport& r) { return r.figures.gpus.size() > 1; });
}

ChartLine line_of(const std::string& metric, const Series& series, std::size_t run,
                  std::span<const RunReport> reports, std::size_t most) {
  const RunReport& report = reports[run];
  const KnownSeries* known = find_series(metric);
  ChartLine line{{run},
                 0,
                 metric,
                 printable(metric, kLongestLabel),
                 false,
                 shape_of(series, known),
                 reduced(within(series, report.span), most)};
  if (known) {
    line.label = known->label;
    line.secondary = known->secondary;
    if (known->kind == SeriesKind::flags) flags_to_share(line.series);
    if (known->kind == SeriesKind::counter && !series.samples.empty())
      count_from_zero(line.series, series.samples.front().value);
  }
  line.label += place_text(metric, several_gpus(reports));
  return line;
}

/// The first run's device and cores: what a line may not pass.
void add_limits(Chart& chart, std::span<const RunReport> reports) {
  if (reports.empty() || chart.lines.empty()) return;
  const RunFigures& figures = reports[chart.lines.front().runs.front()].figures;
  const KnownSeries* first = find_series(chart.lines.front().metric);
  if (first && first->chart == "GPU memory" && !figures.gpus.empty() && figures.gpus.front().memory_bytes)
    chart.limits.push_back({*figures.gpus.front().memory_bytes,
                            "the GPU has " + value_text(*figures.gpus.front().memory_bytes, Shown::bytes)});
  if (chart.shown == Shown::cores && figures.host.cores)
    chart.limits.push_back(
        {*figures.host.cores, fmt::format("the run may use {:.4g} cores", *figures.host.cores)});
}

/// The colour that a line should have: its run's, of a single run its GPU's; nothing where several share it.
std::optional<std::size_t> own_color(const ChartLine& line, std::span<const RunReport> reports) {
  if (line.runs.size() > 1) return std::nullopt;
  if (reports.size() > 1) return line.runs.front();
  const std::optional<unsigned> number = series_number(line.metric);
  if (!number || !line.metric.contains("gpu/")) return 0;
  const std::vector<GpuFigures>& gpus = reports.front().figures.gpus;
  const diagnose::Gpu gpu{store::read_host_series(line.metric).host, *number};
  const auto found = std::ranges::find(gpus, gpu, &GpuFigures::gpu);
  return found == gpus.end() ? std::nullopt : std::optional<std::size_t>(found - gpus.begin());
}

/// A second line of a run, or one that several share, takes the first colour that is nobody's.
void set_colors(Chart& chart, std::span<const RunReport> reports) {
  std::set<std::size_t> taken;
  std::size_t next =
      reports.size() > 1 ? reports.size() : std::max<std::size_t>(1, reports.front().figures.gpus.size());
  for (ChartLine& line : chart.lines) {
    const std::optional<std::size_t> own = own_color(line, reports);
    line.color = own && taken.insert(*own).second ? *own : next++;
    // Not the run's colour: then its name says whose it is.
    if (own && reports.size() > 1 && line.color != *own)
      line.label += fmt::format(" of {}", title_among(reports, line.runs.front()));
  }
}

/// What has nothing beside it is the chart's subject.
void promote(Chart& chart) {
  if (std::ranges::all_of(chart.lines, &ChartLine::secondary))
    for (ChartLine& line : chart.lines) line.secondary = false;
}

std::string capitalised(std::string_view label) {
  std::string out(label);
  if (!out.empty() && out.front() >= 'a' && out.front() <= 'z')
    out.front() = static_cast<char>(out.front() - 32);
  return out;
}

std::string chart_title(const KnownSeries& known, bool several_runs) {
  const auto beside = [&](const KnownSeries& other) { return other.chart == known.chart; };
  return several_runs && std::ranges::count_if(known_series(), beside) > 1 ? capitalised(known.label)
                                                                           : std::string(known.chart);
}

/// To a line of the chart that shows the same thing of another run, else as a line of its own.
void add_line(Chart& chart, ChartLine line, std::span<const RunReport> reports) {
  const RunReport& report = reports[line.runs.front()];
  for (ChartLine& other : chart.lines) {
    const RunReport& first = reports[other.runs.front()];
    if (other.metric != line.metric || !share_series(first, report, line.metric)) continue;
    extend(other.series, line.series,
           1e-6 * static_cast<double>(report.recording.run.start - first.recording.run.start));
    other.runs.push_back(line.runs.front());
    return;
  }
  chart.lines.push_back(std::move(line));
}

/// Says whose it is, as no run's colour does.
void name_shared(ChartLine& line) {
  if (line.runs.size() < 2) return;
  const std::optional<unsigned> number = series_number(line.metric);
  if (number && line.metric.contains("gpu/") && !line.label.contains(", GPU "))
    line.label += place_text(line.metric, true);
  line.label += fmt::format(", shared by {} runs", line.runs.size());
}

void add_known(std::span<const RunReport> reports, std::size_t most, std::vector<Chart>& out) {
  for (const KnownSeries& known : known_series()) {
    const std::string title = chart_title(known, reports.size() > 1);
    for (std::size_t run = 0; run < reports.size(); ++run)
      for (const auto& [metric, series] : own_host_first(reports[run].recording)) {
        if (find_series(*metric) != &known) continue;
        ChartLine line = line_of(*metric, *series, run, reports, most);
        if (line.series.samples.empty()) continue;
        auto chart = std::ranges::find(out, title, &Chart::title);
        if (chart == out.end())
          chart = out.insert(
              out.end(),
              Chart{known.group, title, known.shown == Shown::flags ? Shown::share : known.shown, "", {}});
        add_line(*chart, std::move(line), reports);
      }
  }
}

void add_own(std::span<const RunReport> reports, std::size_t most, std::vector<Chart>& out) {
  const std::size_t first = out.size();
  for (std::size_t run = 0; run < reports.size(); ++run)
    for (const auto& [metric, series] : reports[run].recording.series) {
      if (!is_own_metric(metric)) continue;
      ChartLine line = line_of(metric, series, run, reports, most);
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
  add_own(reports, most, out);
  for (Chart& chart : out) {
    set_colors(chart, reports);
    std::ranges::for_each(chart.lines, name_shared);
  }
  // Of the command's own the epochs say least: after all others.
  std::ranges::stable_sort(out, {}, [](const Chart& c) {
    return std::tuple(c.group, is_zero(c), c.group == SeriesGroup::metric && c.title == "epoch");
  });
  return out;
}

bool is_zero(const Chart& chart) {
  bool any = false;
  for (const ChartLine& line : chart.lines)
    for (const Sample& s : line.series.samples) {
      if (std::isnan(s.value)) continue;
      if (s.value != 0 || s.low != 0 || s.high != 0) return false;
      any = true;
    }
  return any;
}

Span shown_span(std::span<const RunReport> reports) {
  if (reports.empty()) return {0, 1};
  Span out = reports.front().span;
  for (const RunReport& report : reports)
    out = {std::min(out.from, report.span.from), std::max(out.to, report.span.to)};
  if (out.seconds() <= 0) out.to = out.from + 1;
  return out;
}

std::string color_styles(std::size_t count) {
  std::string light, dark;
  for (std::size_t color = kSheetColors; color < count; ++color) {
    // By the golden angle no hue comes again.
    const double hue = std::fmod(137.50776 * static_cast<double>(color), 360);
    light += fmt::format(".run-{} {{ color: oklch({} .13 {:.2f}); }}\n", color, color % 2 == 0 ? ".5" : ".62",
                         hue);
    dark += fmt::format(".run-{} {{ color: oklch({} .12 {:.2f}); }}\n", color, color % 2 == 0 ? ".72" : ".84",
                        hue);
  }
  return light.empty() ? light : fmt::format("{}@media (prefers-color-scheme: dark) {{\n{}}}\n", light, dark);
}

}  // namespace plimsoll::report
