#include "report/log_chart.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "base/text.hpp"
#include "report/html.hpp"
#include "report/probe_words.hpp"
#include "report/table.hpp"

namespace plimsoll::report {
namespace {

constexpr double kWidth = 880, kLeft = 106, kTop = 44, kPlotHeight = 330, kPlotWidth = 490;
constexpr double kRight = kLeft + kPlotWidth, kBottom = kTop + kPlotHeight;
constexpr double kLegend = kRight + 18, kRow = 19, kKey = 26;
constexpr double kLetter = 6.4;  // the width of an average letter of 12 px, to see what has room
constexpr std::size_t kLineColors = 8, kDashes = 3;
constexpr double kStop = 14;  // height of the bar at a curve's end

struct Range {
  double low = 1, high = 10;
  [[nodiscard]] double share(double value) const { return std::log(value / low) / std::log(high / low); }
};

bool drawable(double value) {
  return std::isfinite(value) && value > 0;
}

/// From a power of the base to another, all points within.
Range range_of(const LogChart& chart, double LogPoint::* coordinate, bool binary) {
  double low = INFINITY, high = 0;
  for (const LogSeries& series : chart.series)
    for (const LogPoint& point : series.points)
      if (drawable(point.x) && drawable(point.y)) {
        low = std::min(low, point.*coordinate);
        high = std::max(high, point.*coordinate);
      }
  if (!(low <= high)) return {};
  const double base = binary ? 2 : 10;
  const auto power = [base](double value, auto round) {
    return std::pow(base, round(std::log(value) / std::log(base)));
  };
  // A point that lies on an edge by rounding alone shall not cost a whole decade.
  constexpr double kSlack = 1.0000001;
  Range range{power(low * kSlack, [](double v) { return std::floor(v); }),
              power(high / kSlack, [](double v) { return std::ceil(v); })};
  if (!(range.high > range.low)) range.high = range.low * base;
  return range;
}

struct Tick {
  double value;
  bool labelled;
};

/// Decades with their twos and fives where there are few, powers of two where they say more.
std::vector<Tick> ticks_of(const Range& range, const LogAxis& axis, std::size_t most) {
  std::vector<Tick> out;
  const double base = axis.binary ? 2 : 10;
  const auto powers = static_cast<int>(std::lround(std::log(range.high / range.low) / std::log(base)));
  const int step =
      std::max(1, static_cast<int>(std::ceil(static_cast<double>(powers) / static_cast<double>(most))));
  const bool fine = !axis.binary && powers <= 2;
  for (int power = 0; power <= powers; ++power) {
    const double value = range.low * std::pow(base, power);
    out.push_back({value, power % step == 0});
    if (axis.binary || power == powers || powers > 6) continue;
    for (int digit = 2; digit < 10; ++digit)
      out.push_back({value * digit, fine && (digit == 2 || digit == 5)});
  }
  return out;
}

std::string tick_text(double value, const LogAxis& axis) {
  if (axis.binary && axis.unit == "B") {
    const std::string shown = text(Bytes::rounded(value));
    // Ticks are whole: "16 KiB" rather than "16.0 KiB".
    const std::size_t point = shown.find('.'), blank = shown.find(' ');
    return point < blank && shown.find_first_not_of('0', point + 1) == blank
               ? shown.substr(0, point) + shown.substr(blank)
               : shown;
  }
  if (axis.binary) return fmt::format("{:.0f}", value);
  for (int power = -18; power <= 24; power += 3) {
    const double scaled = value / std::pow(10.0, power);
    if (scaled < 0.9999 || scaled >= 999.9) continue;
    static constexpr std::string_view kPrefixes[] = {"a", "f", "p", "n", "µ", "m", "", "k",
                                                     "M", "G", "T", "P", "E", "Z", "Y"};
    const std::string_view prefix = kPrefixes[static_cast<std::size_t>((power + 18) / 3)];
    if (axis.unit.empty() && power < 0) return fmt::format("{:g}", value);
    return fmt::format("{:.3g}{}{}{}", scaled, prefix.empty() && axis.unit.empty() ? "" : " ", prefix,
                       axis.unit);
  }
  return fmt::format("{:.0e} {}", value, axis.unit);
}

std::string axis_text(double value, const LogAxis& axis) {
  if (axis.binary && axis.unit == "B") return text(Bytes::rounded(value));
  if (axis.unit.empty()) return count_text(value);
  return figure_text(value, axis.unit);
}

class Drawing {
 public:
  explicit Drawing(const LogChart& chart)
      : chart_(chart),
        x_(range_of(chart, &LogPoint::x, chart.x.binary)),
        y_(range_of(chart, &LogPoint::y, chart.y.binary)) {}

  [[nodiscard]] double height() const {
    const auto keys = std::ranges::count(chart_.series, false, &LogSeries::part);
    const double legend = kTop + kRow * static_cast<double>(keys);
    return std::max(kBottom + 54, legend) + (chart_.note.empty() ? 0 : 22);
  }

  void title(double height) {
    out_ +=
        fmt::format("<text class=\"title\" x=\"{}\" y=\"22\">{}</text>\n", kLeft, escape_html(chart_.title));
    if (!chart_.note.empty())
      out_ += fmt::format("<text class=\"note\" x=\"{}\" y=\"{:.0f}\">{}</text>\n", kLeft, height - 8,
                          escape_html(chart_.note));
  }

  void axes() {
    for (const Tick& tick : ticks_of(x_, chart_.x, 8)) {
      const double x = across(tick.value);
      out_ += fmt::format("<line class=\"{}\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{}\" y2=\"{}\"/>\n",
                          tick.labelled ? "rule" : "rule minor", x, x, kTop, kBottom);
      if (tick.labelled) label(x, kBottom + 20, "middle", tick_text(tick.value, chart_.x), "tick");
    }
    for (const Tick& tick : ticks_of(y_, chart_.y, 8)) {
      const double y = up(tick.value);
      out_ += fmt::format("<line class=\"{}\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>\n",
                          tick.labelled ? "rule" : "rule minor", kLeft, kRight, y, y);
      if (tick.labelled) label(kLeft - 7, y + 4, "end", tick_text(tick.value, chart_.y), "tick");
    }
    label((kLeft + kRight) / 2, kBottom + 42, "middle", chart_.x.title, "axis");
    out_ += fmt::format(
        "<text class=\"axis\" text-anchor=\"middle\" transform=\"translate(18 {:.0f}) "
        "rotate(-90)\">{}</text>\n",
        (kTop + kBottom) / 2, escape_html(chart_.y.title));
  }

  void series(const LogSeries& series) {
    std::vector<LogPoint> points;
    for (const LogPoint& point : series.points)
      if (drawable(point.x) && drawable(point.y)) points.push_back(point);
    std::string path;
    for (const LogPoint& point : points)
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", across(point.x), up(point.y));
    out_ += fmt::format("<g class=\"line-{}\">", series.color % kLineColors);
    if (has_line(series.mark) && points.size() > 1)
      out_ += fmt::format("<path class=\"{}\" d=\"{}\"/>", stroke(series), path);
    const auto title = [&](const LogPoint& point) {
      return fmt::format("<title>{}: {}, {}</title>", escape_html(series.label),
                         escape_html(axis_text(point.x, chart_.x)),
                         escape_html(axis_text(point.y, chart_.y)));
    };
    if (has_points(series.mark))
      for (const LogPoint& point : points)
        out_ += fmt::format("<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\">{}</circle>",
                            series.mark == LogMark::dashed ? "hollow" : "dot", across(point.x), up(point.y),
                            series.mark == LogMark::points && !series.part ? 4 : 3, title(point));
    if (series.mark == LogMark::stop)
      for (const LogPoint& point : points)
        out_ += fmt::format("<path class=\"stop\" d=\"M{:.1f} {:.1f}v{}\">{}</path>", across(point.x),
                            up(point.y) - kStop / 2, kStop, title(point));
    out_ += "</g>\n";
  }

  void legend() {
    double y = kTop + 10;
    for (const LogSeries& series : chart_.series) {
      if (series.part) continue;
      out_ += fmt::format("<g class=\"line-{}\">", series.color % kLineColors);
      if (has_line(series.mark))
        out_ += fmt::format("<path class=\"{}\" d=\"M{} {:.1f}h{}\"/>", stroke(series), kLegend, y - 4, kKey);
      if (has_points(series.mark))
        out_ += fmt::format("<circle class=\"{}\" cx=\"{}\" cy=\"{:.1f}\" r=\"3\"/>",
                            series.mark == LogMark::dashed ? "hollow" : "dot", kLegend + kKey / 2, y - 4);
      out_ += "</g>";
      constexpr auto kRoom = static_cast<std::size_t>((kWidth - kLegend - kKey - 8) / kLetter);
      label(kLegend + kKey + 8, y, "start", shortened(series.label, kRoom), "key-text");
      y += kRow;
    }
  }

  [[nodiscard]] std::string take() && { return std::move(out_); }

 private:
  [[nodiscard]] double across(double value) const { return kLeft + x_.share(value) * kPlotWidth; }
  [[nodiscard]] double up(double value) const { return kBottom - y_.share(value) * kPlotHeight; }
  static bool has_line(LogMark mark) { return mark != LogMark::points && mark != LogMark::stop; }
  static bool has_points(LogMark mark) {
    return mark == LogMark::line || mark == LogMark::dashed || mark == LogMark::points;
  }
  static std::string stroke(const LogSeries& series) {
    const std::size_t round = series.color / kLineColors;
    const std::string dash = round == 0 ? "" : fmt::format(" dash-{}", (round - 1) % kDashes + 1);
    switch (series.mark) {
      case LogMark::dashed: return "stroke dashed";
      case LogMark::limit: return "stroke limit";
      case LogMark::curve: return "stroke" + dash;
      case LogMark::beyond: return "stroke beyond" + dash;
      default: return "stroke";
    }
  }
  static std::string shortened(const std::string& text, std::size_t most) {
    return display_width(text) <= most ? text : printable(text, most);
  }
  void label(double x, double y, std::string_view anchor, std::string_view text, std::string_view kind) {
    out_ += fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", kind,
                        x, y, anchor, escape_html(text));
  }

  const LogChart& chart_;
  Range x_, y_;
  std::string out_;
};

std::string file_attributes(double height) {
  return fmt::format(" xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{:.0f}\"", kWidth, height);
}
std::string file_ground() {
  return fmt::format("<style>\n{}</style>\n<rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n",
                     page_part("log_chart.css"));
}

}  // namespace

std::string to_svg(const LogChart& chart, SvgUse use) {
  Drawing drawing(chart);
  const double height = drawing.height();
  std::string out = fmt::format(
      "<svg{} class=\"log-chart\" viewBox=\"0 0 {} {:.0f}\" role=\"img\" aria-label=\"{}\">\n",
      use == SvgUse::file ? file_attributes(height) : "", kWidth, height, escape_html(chart.title));
  if (use == SvgUse::file) out += file_ground();
  drawing.title(height);
  drawing.axes();
  for (const LogSeries& series : chart.series) drawing.series(series);
  drawing.legend();
  return out + std::move(drawing).take() + "</svg>\n";
}

std::string to_svg(std::span<const LogChart> charts) {
  std::string inside;
  double height = 0;
  for (const LogChart& chart : charts) {
    const double own = Drawing(chart).height();
    std::string one = to_svg(chart, SvgUse::page);
    one.insert(std::string_view("<svg").size(),
               fmt::format(" y=\"{:.0f}\" width=\"{}\" height=\"{:.0f}\"", height, kWidth, own));
    inside += one;
    height += own;
  }
  return fmt::format("<svg{} class=\"log-chart\" viewBox=\"0 0 {} {:.0f}\">\n{}{}</svg>\n",
                     file_attributes(height), kWidth, height, file_ground(), inside);
}

}  // namespace plimsoll::report
