#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "report/run_charts.hpp"
#include "report/run_title.hpp"

namespace plimsoll::report {
namespace {

using diagnose::Sample;
using diagnose::SeriesKind;
using diagnose::Span;

using Json = nlohmann::ordered_json;

/// Six digits are more than a chart shows.
Json short_number(double value) {
  if (!std::isfinite(value)) return {};
  return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr);
}

Json series_json(const ChartLine& line) {
  Json times = Json::array(), values = Json::array(), lows = Json::array(), highs = Json::array();
  Json steps = Json::array(), breaks = Json::array(), numbers = Json::array();
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
    numbers.push_back(s.numbers);
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
    if (line.series.kind == SeriesKind::own) out["n"] = std::move(numbers);
  }
  if (line.series.kind == SeriesKind::own) out["s"] = std::move(steps);
  if (!breaks.empty()) out["b"] = std::move(breaks);
  out["p"] = short_number(line.series.period);
  return out;
}

std::string_view shape_name(LineShape shape) {
  switch (shape) {
    case LineShape::straight: return "";
    case LineShape::after: return "after";
    case LineShape::before: return "before";
  }
  return "";
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

Json charts_json(std::span<const Chart> charts, std::span<const RunReport> reports) {
  Json out;
  const Span span = shown_span(reports);
  out["from"] = short_number(span.from);
  out["to"] = short_number(span.to);
  out["runs"] = Json::array();
  for (const RunReport& report : reports)
    out["runs"].push_back({{"id", short_id(report.recording.run)},
                           {"title", run_title(report.recording.run)},
                           {"from", short_number(report.span.from)},
                           {"to", short_number(report.span.to)}});
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
          {"runs", line.runs},   {"color", line.color},     {"metric", printable(line.metric)},
          {"label", line.label}, {"faint", line.secondary}, {"kind", kind_name(line.series.kind)}};
      if (line.shape != LineShape::straight) of_line["shape"] = shape_name(line.shape);
      of_line.update(series_json(line));
      one["lines"].push_back(std::move(of_line));
    }
    out["charts"].push_back(std::move(one));
  }
  return out;
}

}  // namespace plimsoll::report
