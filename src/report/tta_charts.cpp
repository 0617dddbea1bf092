#include "report/tta_charts.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "base/statistics.hpp"
#include "report/html.hpp"
#include "report/run_charts.hpp"
#include "report/tta_words.hpp"

namespace plimsoll::report {
namespace {

using learn::Evaluation;
using learn::SetupStudy;
using learn::SurvivalStep;

constexpr double kChartWidth = 600, kChartHeight = 240, kChartLeft = 58, kChartRight = 592, kChartTop = 8,
                 kChartBottom = 216;
constexpr std::size_t kMostCurves = 200;  ///< more are a blot
constexpr std::size_t kMostPoints = 300;  ///< of a curve

struct LinearAxis {
  double low = 0, high = 1;
  [[nodiscard]] double share(double value) const {
    return std::clamp((value - low) / (high - low), 0.0, 1.0);
  }
};

double across(const LinearAxis& axis, double value) {
  return kChartLeft + axis.share(value) * (kChartRight - kChartLeft);
}
double up(const LinearAxis& axis, double value) {
  return kChartBottom - axis.share(value) * (kChartBottom - kChartTop);
}

std::string text_at(double x, double y, std::string_view anchor, std::string_view text) {
  return fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"{}\">{}</text>", x, y, anchor,
                     escape_html(text));
}

std::string opened(std::string_view title) {
  return fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">", kChartWidth, kChartHeight,
                     escape_html(title));
}

std::string clock_axis(const TtaReport& report, const LinearAxis& axis) {
  std::string out;
  for (const double share : {0.0, 0.5, 1.0}) {
    const std::string_view anchor = share == 0 ? "start" : share == 1 ? "end" : "middle";
    out += text_at(kChartLeft + share * (kChartRight - kChartLeft), kChartHeight - 6, anchor,
                   clock_text(axis.low + share * (axis.high - axis.low), report.study.clock));
  }
  return out;
}

std::string value_axis(const LinearAxis& axis) {
  std::string out;
  for (const double share : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    const double value = axis.low + share * (axis.high - axis.low), y = up(axis, value);
    out += fmt::format("<line class=\"rule\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>", kChartLeft,
                       kChartRight, y, y);
    out += text_at(kChartLeft - 6, y + 4, "end", fmt::format("{:.3g}", value));
  }
  return out;
}

LinearAxis clock_of(const TtaReport& report) {
  LinearAxis out{0, 0};
  for (const SetupStudy& setup : report.study.setups)
    for (const learn::Observation& one : setup.observations) out.high = std::max(out.high, one.time);
  if (!(out.high > 0)) out.high = 1;
  return out;
}

/// Where the values of the curves lie, without the first tenth, in which they change most.
std::optional<LinearAxis> values_of(const TtaReport& report) {
  LinearAxis out{INFINITY, -INFINITY};
  const auto take = [&out](double value) {
    if (!std::isfinite(value)) return;
    out.low = std::min(out.low, value);
    out.high = std::max(out.high, value);
  };
  for (const learn::Setup& setup : report.setups)
    for (const learn::Training& training : setup.trainings) {
      if (training.curves.empty()) continue;
      const std::vector<Evaluation>& curve = training.curves.front();
      for (std::size_t i = curve.size() / 10; i < curve.size(); ++i) take(curve[i].value);
    }
  if (!(out.low <= out.high)) return std::nullopt;
  take(report.study.targets.front().value);
  const double room = out.high > out.low ? 0.04 * (out.high - out.low) : 0.5;
  return LinearAxis{out.low - room, out.high + room};
}

std::string color_of(std::size_t setup) {
  return fmt::format("run-{}", setup % kSheetColors);
}

}  // namespace

std::string learning_curves_svg(const TtaReport& report) {
  if (report.study.targets.empty()) return "";
  const std::optional<LinearAxis> values = values_of(report);
  if (!values) return "";
  const learn::Target& target = report.study.targets.front();
  LinearAxis clock = clock_of(report);
  for (const learn::Setup& setup : report.setups)
    for (const learn::Training& training : setup.trainings) clock.high = std::max(clock.high, training.until);
  std::string out = opened("Learning curves") + value_axis(*values) + clock_axis(report, clock);
  std::size_t drawn = 0;
  for (std::size_t i = 0; i < report.setups.size(); ++i)
    for (const learn::Training& training : report.setups[i].trainings) {
      if (training.curves.empty() || ++drawn > kMostCurves) continue;
      const std::vector<Evaluation>& curve = training.curves.front();
      const std::size_t stride = curve.size() / kMostPoints + 1;
      std::string path;
      for (std::size_t k = 0; k < curve.size(); k += stride)
        if (std::isfinite(curve[k].value))
          path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", across(clock, curve[k].at),
                              up(*values, curve[k].value));
      out += fmt::format("<path class=\"line {}\" d=\"{}\"><title>{}</title></path>", color_of(i), path,
                         escape_html(printable(training.name)));
    }
  const double y = up(*values, target.value);
  out += fmt::format("<line class=\"limit\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>", kChartLeft,
                     kChartRight, y, y);
  return out + "</svg>";
}

std::string survival_curves_svg(const TtaReport& report) {
  const LinearAxis clock = clock_of(report), shares{0, 1};
  std::string out =
      opened("Share that has not reached the target") + value_axis(shares) + clock_axis(report, clock);
  for (std::size_t i = 0; i < report.study.setups.size(); ++i) {
    std::string path = fmt::format("M{:.1f} {:.1f}", across(clock, 0), up(shares, 1)), above = path, marks;
    for (const SurvivalStep& step : report.study.setups[i].survival) {
      const double x = across(clock, step.time);
      path += fmt::format("H{:.1f}V{:.1f}", x, up(shares, step.share));
      above += fmt::format("H{:.1f}V{:.1f}", x, up(shares, step.high));
      if (step.left > 0) marks += fmt::format("M{:.1f} {:.1f}v10", x, up(shares, step.share) - 5);
    }
    // The band's lower edge is walked back: each step is entered at its right.
    std::string back;
    const std::vector<SurvivalStep>& steps = report.study.setups[i].survival;
    for (std::size_t k = steps.size(); k-- > 0;)
      back += fmt::format("{}{:.1f}V{:.1f}", k + 1 == steps.size() ? "V" : "H",
                          k + 1 == steps.size() ? up(shares, steps[k].low) : across(clock, steps[k + 1].time),
                          up(shares, steps[k].low));
    if (!steps.empty())
      back += fmt::format("H{:.1f}V{:.1f}H{:.1f}Z", across(clock, steps.front().time), up(shares, 1),
                          across(clock, 0));
    out += fmt::format("<path class=\"band {}\" d=\"{}{}\"/>", color_of(i), above, back);
    out += fmt::format("<path class=\"line {}\" d=\"{}{}\"/>", color_of(i), path, marks);
  }
  return out + "</svg>";
}

std::string time_boxes_svg(const TtaReport& report) {
  LinearAxis clock{INFINITY, 0};
  for (const SetupStudy& setup : report.study.setups)
    for (const learn::Observation& one : setup.observations) {
      clock.low = std::min(clock.low, one.time);
      clock.high = std::max(clock.high, one.time);
    }
  if (!(clock.low <= clock.high)) return "";
  const double room =
      clock.high > clock.low ? 0.05 * (clock.high - clock.low) : std::max(1e-9, 0.5 * clock.high);
  clock = {std::max(0.0, clock.low - room), clock.high + room};
  std::string out = opened("Times to the target") + clock_axis(report, clock);
  const double row = (kChartBottom - kChartTop) / static_cast<double>(report.study.setups.size());
  for (std::size_t i = 0; i < report.study.setups.size(); ++i) {
    const SetupStudy& setup = report.study.setups[i];
    const double middle = kChartTop + row * (static_cast<double>(i) + 0.5), half = std::min(28.0, row * 0.3);
    const std::vector<double> times = learn::times_reached(setup.observations);
    out += fmt::format("<g class=\"{}\">", color_of(i));
    if (!times.empty()) {
      const auto at = [&](double share) { return across(clock, quantile_of(times, share, 0.95).value); };
      out +=
          fmt::format("<rect class=\"band\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>",
                      at(0.25), middle - half, at(0.75) - at(0.25), 2 * half);
      const double centre = across(clock, median(times));
      out += fmt::format("<path class=\"line\" d=\"M{:.1f} {:.1f}v{:.1f}M{:.1f} {:.1f}H{:.1f}\"/>", centre,
                         middle - half, 2 * half, across(clock, times.front()), middle,
                         across(clock, times.back()));
    }
    for (const learn::Observation& one : setup.observations)
      out += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\" stroke=\"currentColor\"/>",
                         across(clock, one.time), middle, one.reached ? "currentColor" : "none");
    out += "</g>";
  }
  return out + "</svg>";
}

}  // namespace plimsoll::report
