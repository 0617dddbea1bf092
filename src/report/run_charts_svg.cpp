#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "base/text.hpp"
#include "report/html.hpp"
#include "report/run_charts.hpp"

namespace plimsoll::report {
namespace {

using diagnose::Sample;
using diagnose::Series;
using diagnose::SeriesKind;
using diagnose::Shown;
using diagnose::Span;

/// Of the drawing, as in run.js.
constexpr double kWidth = 600, kHeight = 190, kRight = 592, kTop = 8, kBottom = 168;
constexpr double kLetter = 7.2;           ///< of the labels, on average and with some room
constexpr std::size_t kMostPoints = 400;  ///< of a line; the script draws it finer

struct Axis {
  double low = 0, high = 1;
  [[nodiscard]] double y(double value) const {
    return kBottom - (value - low) / (high - low) * (kBottom - kTop);
  }
};

/// From zero, except for the command's own metrics; shares to one where nothing is above it.
Axis axis_of(const Chart& chart) {
  double low = INFINITY, high = -INFINITY;
  for (const ChartLine& line : chart.lines)
    for (const Sample& s : line.series.samples)
      if (std::isfinite(s.value)) low = std::min(low, s.value), high = std::max(high, s.value);
  if (!(low <= high)) return {};
  if (chart.shown != Shown::plain) low = std::min(low, 0.0);
  if (chart.shown == Shown::share) high = std::max(high, 1.0);
  for (const ChartLimit& limit : chart.limits)
    if (limit.value < 3 * high) high = std::max(high, 1.02 * limit.value);
  const bool bytes = chart.shown == Shown::bytes || chart.shown == Shown::bytes_per_second;
  if (!(high > low) && chart.shown == Shown::plain) {  // one value alone stands in the middle
    const double around = low == 0 ? 1.0 : 0.5 * std::abs(low);
    low -= around;
    high += around;
  }
  if (!(high > low)) high = low + std::max(bytes ? 0x1p20 : 1.0, std::abs(low));
  if (chart.shown != Shown::share) high += 0.05 * (high - low);
  if (!std::isfinite(high - low)) return {};
  return {low, high};
}

/// From the value before, where the pen is, to the next.
std::string_view step_to(LineShape shape) {
  switch (shape) {
    case LineShape::straight: return "L{0:.1f} {1:.1f}";
    case LineShape::after: return "H{0:.1f}V{1:.1f}";
    case LineShape::before: return "V{1:.1f}H{0:.1f}";
  }
  return "";
}

std::string path_of(const ChartLine& line, Span span, const Axis& axis, double left) {
  std::string out;
  bool pen_down = false;
  const bool stands_for_time = line.series.kind == SeriesKind::gauge || line.series.kind == SeriesKind::flags;
  const Series few = reduced(line.series, kMostPoints);
  for (std::size_t i = 0; i < few.samples.size(); ++i) {
    const Sample& s = few.samples[i];
    if (i > 0 && s.span.from > few.samples[i - 1].span.to) pen_down = false;
    if (!std::isfinite(s.value)) {
      pen_down = false;
      continue;
    }
    const auto place = [&](double time) {
      return left + (std::max(time, span.from) - span.from) / span.seconds() * (kRight - left);
    };
    const double x = place(s.span.to);
    if (!pen_down && stands_for_time) {
      out += fmt::format("M{:.1f} {:.1f}", place(s.span.from), axis.y(s.value));
      pen_down = true;
    }
    out += fmt::format(fmt::runtime(pen_down ? step_to(line.shape) : "M{0:.1f} {1:.1f}"), x, axis.y(s.value));
    if (!pen_down && (i + 1 == few.samples.size() || few.samples[i + 1].span.from > s.span.to)) out += "h.5";
    pen_down = true;
  }
  return out;
}

/// Few points of the command's own are seen as points; so is a sample that stands alone, which a line would
/// hide.
std::string dots_of(const ChartLine& line, Span span, const Axis& axis, double left) {
  constexpr std::size_t kFewPoints = 30;
  const std::vector<Sample>& samples = line.series.samples;
  const bool few = line.series.kind == SeriesKind::own && line.shape == LineShape::straight;
  std::string out;
  if (samples.size() > (few ? kFewPoints : 1)) return out;
  for (const Sample& s : samples)
    if (std::isfinite(s.value))
      out += fmt::format("M{:.1f} {:.1f}h0",
                         left + (s.span.to - span.from) / span.seconds() * (kRight - left), axis.y(s.value));
  return out;
}

std::string text_at(double x, double y, std::string_view anchor, std::string_view text,
                    std::string_view kind = "") {
  return fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"{}\"{}>{}</text>", x, y, anchor,
                     kind.empty() ? "" : fmt::format(" class=\"{}\"", kind), escape_html(text));
}

/// What stands at the axis; the chart's caption names the unit of the command's own.
std::string mark_text(double value, const Chart& chart) {
  return value_text(value, chart.shown);
}

}  // namespace

std::string chart_svg(const Chart& chart, Span span) {
  const Axis axis = axis_of(chart);
  constexpr std::array<double, 3> kMarks = {0.0, 0.5, 1.0};
  std::size_t longest = 0;
  for (const double share : kMarks)
    longest = std::max(longest, display_width(mark_text(axis.low + share * (axis.high - axis.low), chart)));
  const double left = 10 + kLetter * static_cast<double>(longest);
  std::string out = fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">", kWidth, kHeight,
                                escape_html(chart.title));
  for (const double share : kMarks) {
    const double value = axis.low + share * (axis.high - axis.low), y = axis.y(value);
    out += fmt::format("<line class=\"rule\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>", left, kRight,
                       y, y);
    out += text_at(left - 6, y + 4, "end", mark_text(value, chart));
  }
  out += text_at(left, kHeight - 6, "start", text(Seconds(span.from)));
  out += text_at(kRight, kHeight - 6, "end", text(Seconds(span.to)));
  for (const ChartLimit& limit : chart.limits)
    if (limit.value <= axis.high)
      out += fmt::format("<line class=\"limit\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>", left,
                         kRight, axis.y(limit.value), axis.y(limit.value)) +
             text_at(kRight - 2, axis.y(limit.value) + (axis.y(limit.value) > kTop + 14 ? -4 : 13), "end",
                     limit.label, "limit");
  for (const ChartLine& line : chart.lines) {
    out += fmt::format("<path class=\"line run-{}{}\" d=\"{}\"/>", line.color, line.secondary ? " faint" : "",
                       path_of(line, span, axis, left));
    if (const std::string dots = dots_of(line, span, axis, left); !dots.empty())
      out += fmt::format("<path class=\"dots run-{}\" d=\"{}\"/>", line.color, dots);
  }
  return out + "</svg>";
}

}  // namespace plimsoll::report
