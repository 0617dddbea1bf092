#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text.hpp"
#include "report/html.hpp"
#include "report/run_charts.hpp"
#include "report/schedule_lanes.hpp"
#include "report/schedule_words.hpp"

namespace plimsoll::report {
namespace {

using plan::schedule::Plan;
using plan::schedule::Ran;

/// Of a lane's drawing, in its own units.
constexpr double kDrawingWidth = 1200, kDrawingLeft = 90, kDrawingRight = 1190;
constexpr double kRowHeight = 22, kStripHeight = 34, kStripGap = 8, kAxisHeight = 20, kLaneTop = 4;
constexpr double kLetterWidth = 6.8;  // on average
constexpr std::size_t kPageTicks = 11;
constexpr std::size_t kMostInTooltip = 12;

/// Where the moments of a plan lie.
struct Across {
  double span = 0;
  [[nodiscard]] double at(double seconds) const {
    const double share = span > 0 ? std::clamp(seconds / span, 0.0, 1.0) : 0;
    return kDrawingLeft + share * (kDrawingRight - kDrawingLeft);
  }
};

std::string svg_text(double x, double y, std::string_view anchor, std::string_view words) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>", x, y, anchor,
                     escape_html(words));
}

std::string bar_title(const Plan& plan, std::size_t job, const std::vector<std::size_t>& besides) {
  const Ran& ran = plan.outcome.jobs[job];
  const auto speed = mean_speed(plan, job);
  const std::string starting = ran.computes_from() > ran.start
                                   ? fmt::format(" (first step at {})", text(Seconds(ran.computes_from())))
                                   : "";
  return fmt::format("{}: from {}{} to {}, {}, beside {}", scheduled_name(plan, job),
                     text(Seconds(ran.start)), starting, text(Seconds(ran.end)),
                     speed ? fmt::format("mean speed {:.2f} of that alone", *speed) : "serves",
                     beside_words(plan, besides, kMostInTooltip));
}

std::string bar_svg(const Plan& plan, const LaneBar& bar, const Across& across,
                    const std::vector<std::size_t>& besides) {
  const Ran& ran = plan.outcome.jobs[bar.job];
  const double left = across.at(ran.start), width = std::max(1.0, across.at(ran.end) - left - 1);
  const double top = kLaneTop + static_cast<double>(bar.row) * kRowHeight;
  std::string out = fmt::format(
      "<g class=\"run-{}\"><title>{}</title><rect class=\"bar\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
      "height=\"{:.1f}\" rx=\"3\"/>",
      bar.job % kSheetColors, escape_html(bar_title(plan, bar.job, besides)), left, top, width,
      kRowHeight - 3);
  if (ran.computes_from() > ran.start)
    out +=
        fmt::format("<rect class=\"starting\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>",
                    left, top, std::min(width, across.at(ran.computes_from()) - left), kRowHeight - 3);
  const auto letters = static_cast<std::size_t>(std::max(0.0, (width - 8) / kLetterWidth));
  const std::string number = fmt::format("{}", bar.job + 1);
  std::string label = letters >= number.size() ? number : "";
  if (letters >= number.size() + 4)
    label += " " + shortened(scheduled_name(plan, bar.job), letters - number.size() - 1);
  if (!label.empty()) out += svg_text(left + 4, top + kRowHeight - 8, "start", label);
  return out + "</g>\n";
}

/// A value from 0 to 1 over time, as steps above the bottom of its strip.
struct Strip {
  std::string label, title, kind;
  double bottom = 0;
};

std::string strip_frame(const Strip& strip) {
  const double top = strip.bottom - kStripHeight;
  return fmt::format(
             "<rect class=\"ground\" x=\"{0}\" y=\"{1:.1f}\" width=\"{2}\" height=\"{3}\"/><line "
             "class=\"whole\" x1=\"{0}\" x2=\"{4}\" y1=\"{1:.1f}\" y2=\"{1:.1f}\"/>",
             kDrawingLeft, top, kDrawingRight - kDrawingLeft, kStripHeight, kDrawingRight) +
         svg_text(kDrawingLeft - 6, top + 14, "end", strip.label);
}

/// One figure over all stretches of time; those alike in `kind` are one path.
template <class Value, class Chosen>
std::string strip_path(const Strip& strip, const std::vector<Occupied>& over, const Across& across,
                       Value value, Chosen chosen) {
  std::string path;
  for (const Occupied& now : over) {
    const double height = std::clamp(value(now), 0.0, 1.0) * kStripHeight;
    if (!chosen(now) || height <= 0) continue;
    path += fmt::format("M{:.1f} {:.1f}V{:.1f}H{:.1f}V{:.1f}Z", across.at(now.from), strip.bottom,
                        strip.bottom - height, across.at(now.to), strip.bottom);
  }
  if (path.empty()) return {};
  return fmt::format("<path class=\"{}\" d=\"{}\"><title>{}</title></path>\n", strip.kind, path,
                     escape_html(strip.title));
}

std::string memory_strip(const Plan& plan, const Lane& lane, const std::vector<Occupied>& over,
                         const Across& across, double bottom) {
  const Bytes capacity = plan.instance.places[lane.place].memory;
  Bytes most;
  bool unknown = capacity <= Bytes();
  for (const Occupied& now : over) {
    most = std::max(most, now.memory);
    unknown = unknown || now.unknown;
  }
  Strip strip{.label = "memory",
              .title = fmt::format("memory: {} of {} at most", text(most), text(capacity)),
              .kind = "memory",
              .bottom = bottom};
  std::string out =
      strip_frame(strip) + svg_text(kDrawingLeft - 6, bottom - 6, "end",
                                    unknown ? "unknown" : fmt::format("{:.0f} %", 100 * (most / capacity)));
  out += strip_path(
      strip, over, across,
      [&](const Occupied& now) { return capacity > Bytes() ? now.memory / capacity : 0; },
      [](const Occupied& now) { return !now.unknown; });
  strip.kind = "unknown";
  strip.title = "memory: nobody knows how much";
  return out + strip_path(
                   strip, over, across, [](const Occupied&) { return 1.0; },
                   [](const Occupied& now) { return now.unknown; });
}

std::string activity_strip(const std::vector<Occupied>& over, const Across& across, double bottom) {
  double sum = 0, all = 0;
  for (const Occupied& now : over) {
    sum += now.activity * (now.to - now.from);
    all += now.to - now.from;
  }
  const double mean = all > 0 ? sum / all : 0;
  const Strip strip{.label = "SM activity",
                    .title = fmt::format("SM activity: {:.0f} % in the mean, by mean speeds", 100 * mean),
                    .kind = "activity",
                    .bottom = bottom};
  return strip_frame(strip) +
         svg_text(kDrawingLeft - 6, bottom - 6, "end", fmt::format("{:.0f} %", 100 * mean)) +
         strip_path(
             strip, over, across, [](const Occupied& now) { return now.activity; },
             [](const Occupied&) { return true; });
}

std::string lane_svg(const Plan& plan, const Lane& lane, const Across& across,
                     const std::vector<std::vector<std::size_t>>& besides) {
  const double rows_end = kLaneTop + static_cast<double>(lane.rows) * kRowHeight;
  const double memory_bottom = rows_end + kStripGap + kStripHeight;
  const double bottom = memory_bottom + kStripGap + kStripHeight, height = bottom + kAxisHeight;
  std::string out = fmt::format(
      "<figure class=\"schedule\"><figcaption>{}</figcaption>\n<svg viewBox=\"0 0 {} {:.0f}\" "
      "role=\"img\" aria-label=\"{}\">\n",
      escape_html(place_words(plan, lane.place)), kDrawingWidth, height,
      escape_html("Jobs on " + place_words(plan, lane.place)));
  const std::vector<Occupied> over = occupied_over_time(plan, lane);
  out += svg_text(kDrawingLeft - 6, kLaneTop + 14, "end", "jobs");
  out += memory_strip(plan, lane, over, across, memory_bottom) + activity_strip(over, across, bottom);
  for (const TimeTick& tick : time_ticks(across.span, kPageTicks)) {
    const double x = across.at(tick.at);
    out += fmt::format("<line class=\"rule\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"0\" y2=\"{1:.1f}\"/>", x,
                       bottom);
    out += svg_text(x, height - 5,
                    tick.at == 0             ? "start"
                    : x > kDrawingRight - 20 ? "end"
                                             : "middle",
                    tick.text);
  }
  for (const LaneBar& bar : lane.bars) out += bar_svg(plan, bar, across, besides[bar.job]);
  return out + "</svg></figure>\n";
}

}  // namespace

std::string schedule_page(const ScheduleReport& report) {
  const Plan& plan = *report.plan;
  std::string out = page_head(schedule_title(report) + " – Plimsoll", "run.css", page_part("schedule.css"));
  out += fmt::format("<header><h1>{}</h1></header>\n<main>\n<dl class=\"totals\">",
                     escape_html(schedule_title(report)));
  for (const auto& [label, words] : schedule_totals(report))
    out += fmt::format("<dt>{}</dt><dd>{}</dd>", escape_html(label), escape_html(words));
  out += "</dl>\n";
  const auto besides = besides_of(plan);
  const Across across{schedule_span(plan)};
  for (const Lane& lane : lanes_of(plan)) out += lane_svg(plan, lane, across, besides);
  Table jobs = schedule_jobs_table(report);
  if (!report.why.empty()) {
    jobs.columns.push_back({"Why"});
    for (std::size_t i = 0; i < jobs.rows.size(); ++i)
      jobs.rows[i].push_back(i < report.why.size() ? report.why[i] : "");
  }
  out += "<h2>Jobs</h2>\n" + table_html(jobs);
  if (!plan.alternatives.empty())
    out += "<h2>Other layouts</h2>\n" + table_html(schedule_alternatives_table(report));
  return out +
         "<p class=\"note\">Memory is the most that the jobs take, of what the place has. Activity is what "
         "each keeps busy alone times its mean speed.</p>\n</main></body></html>\n";
}

}  // namespace plimsoll::report
