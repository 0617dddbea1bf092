#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "report/run_charts.hpp"

namespace plimsoll::report {
namespace {

using diagnose::is_of_machine;
using diagnose::Sample;
using diagnose::Series;
using diagnose::series_number;
using diagnose::SeriesKind;

/// Runs whose starts are further apart than this share of the shorter one stand beside each other on an axis
/// of time since the start: then what they share is not drawn over itself.
constexpr double kTogether = 0.05;

bool began_together(const RunReport& one, const RunReport& other) {
  const double apart = 1e-6 * std::abs(static_cast<double>(one.recording.run.start) -
                                       static_cast<double>(other.recording.run.start));
  return apart <= kTogether * std::min(one.recording.seconds, other.recording.seconds);
}

bool same_tag(const RunReport& one, const RunReport& other, const std::string& tag) {
  return one.recording.tag(tag) == other.recording.tag(tag);
}

}  // namespace

bool share_series(const RunReport& one, const RunReport& other, const std::string& metric) {
  if (!is_of_machine(metric) || !one.recording.tag("plimsoll.host") ||
      !same_tag(one, other, "plimsoll.host") || !began_together(one, other))
    return false;
  const std::optional<unsigned> gpu = series_number(metric);
  // Of another host's GPUs the tags say nothing; the name says which host.
  return !metric.starts_with("system/gpu/") || !gpu ||
         same_tag(one, other, fmt::format("plimsoll.device.{}.uuid", *gpu));
}

void extend(Series& line, const Series& more, double shift) {
  double end = line.samples.empty() ? -INFINITY : line.samples.back().span.to;
  const auto after =
      std::ranges::find_if(more.samples, [&](const Sample& s) { return s.span.to + shift > end; });
  if (after == more.samples.end()) return;
  // Two counters may have begun at different moments: the second goes on from where the first stood.
  double offset = 0;
  if (line.kind == SeriesKind::counter && !line.samples.empty())
    offset = line.samples.back().value - (after == more.samples.begin() ? *after : *(after - 1)).value;
  for (auto s = after; s != more.samples.end(); ++s) {
    Sample added = *s;
    added.span = {std::max(s->span.from + shift, end), s->span.to + shift};
    added.value += offset;
    added.low += offset;
    added.high += offset;
    line.samples.push_back(added);
    line.points += added.points;
    end = added.span.to;
  }
}

}  // namespace plimsoll::report
