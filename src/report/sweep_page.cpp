#include <bit>

#include <fmt/format.h>

#include "report/estimate_table.hpp"
#include "report/html.hpp"
#include "report/sweep_report.hpp"

namespace plimsoll::report {
namespace {

using estimate::SweepPoint;

constexpr std::size_t kFewPoints = 24;

/// What can be pointed at: all points where they are few, else powers of two.
bool is_marked(const SweepPoint& point, std::size_t points) {
  return points <= kFewPoints || std::has_single_bit(static_cast<std::uint64_t>(point.batch));
}

template <class Value>
void add_device(const SweepRow& row, std::size_t color, const Value& value, LogChart& chart) {
  const auto series = [&](LogMark mark, bool part) {
    return LogSeries{
        .label = device_word(*row.device), .points = {}, .color = color, .mark = mark, .part = part};
  };
  LogSeries line = series(LogMark::curve, false), beyond = series(LogMark::beyond, true),
            marks = series(LogMark::points, true), stop = series(LogMark::stop, true);
  stop.label += ", the largest batch that fits";
  const SweepPoint* last = row.swept.last_that_fits();
  const SweepPoint* large = row.swept.first_too_large();
  for (const SweepPoint& point : row.swept.points) {
    const std::optional<double> y = value(point);
    if (!y) continue;
    const LogPoint at{static_cast<double>(point.batch), *y};
    const bool fits = large == nullptr || point.batch < large->batch;
    (fits ? line : beyond).points.push_back(at);
    if (fits && is_marked(point, row.swept.points.size())) marks.points.push_back(at);
    if (large != nullptr && &point == last) {
      stop.points.push_back(at);
      beyond.points.push_back(at);
    }
  }
  if (line.points.empty() && beyond.points.empty()) return;
  chart.series.push_back(std::move(line));
  for (LogSeries* part : {&beyond, &marks, &stop})
    if (!part->points.empty()) chart.series.push_back(std::move(*part));
}

bool some_stop(const SweepReport& report) {
  for (const SweepRow& row : report.rows)
    if (row.swept.no_time.empty() && row.swept.first_too_large() != nullptr) return true;
  return false;
}

}  // namespace

std::vector<LogChart> sweep_charts(const SweepReport& report) {
  const bool training = report.setting.mode == network::Mode::train;
  const LogAxis batch{.title = "batch", .unit = "", .binary = true};
  const std::string note =
      some_stop(report) ? "A bar ends the line where the device's memory does; pale beyond: had it the room."
                        : "";
  LogChart latency{.name = "latency",
                   .title = fmt::format("{}: time of a {}", report.model, training ? "step" : "pass"),
                   .x = batch,
                   .y = {.title = "time (s)", .unit = "s", .binary = false},
                   .series = {},
                   .note = note};
  LogChart throughput{.name = "throughput",
                      .title = fmt::format("{}: throughput", report.model),
                      .x = batch,
                      .y = {.title = "samples per second", .unit = "", .binary = false},
                      .series = {},
                      .note = note};
  std::size_t color = 0;
  for (const SweepRow& row : report.rows) {
    if (!row.swept.no_time.empty()) continue;
    add_device(
        row, color,
        [](const SweepPoint& p) { return p.time ? std::optional(p.time->seconds.value()) : std::nullopt; },
        latency);
    add_device(row, color, [](const SweepPoint& p) { return p.samples_per_second(); }, throughput);
    ++color;
  }
  return {std::move(latency), std::move(throughput)};
}

std::string sweep_page(const SweepReport& report) {
  const std::string title = sweep_title(report);
  std::string out = page_head(title + " – Plimsoll", "run.css");
  out += fmt::format("<style>\n{}{}</style>\n", page_part("log_chart.css"), page_part("probe.css"));
  out += fmt::format("<header><h1>{}</h1></header>\n<main>\n<div class=\"charts wide-charts\">\n",
                     escape_html(title));
  for (const LogChart& chart : sweep_charts(report))
    out += fmt::format("<figure id=\"{}\">\n{}</figure>\n", escape_html(chart.name),
                       to_svg(chart, SvgUse::page));
  out += fmt::format("</div>\n<section>\n<h2>Devices</h2>\n{}</section>\n</main>\n<footer>\n",
                     table_html(sweep_table(report)));
  for (const std::string& note : sweep_notes(report))
    out += fmt::format("<p class=\"note\">{}</p>\n", escape_html(note));
  return out + "</footer>\n</body>\n</html>\n";
}

}  // namespace plimsoll::report
