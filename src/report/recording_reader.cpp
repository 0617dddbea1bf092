#include "report/recording_reader.hpp"

#include <algorithm>
#include <vector>

#include "report/series_catalogue.hpp"

namespace plimsoll::report {
namespace {

constexpr std::size_t kMostSamplesOfOne = 50000;

/// The metrics that are shown, the command's own among them up to a limit.
std::vector<std::string> shown_metrics(const store::Run& run, std::size_t most_own, std::size_t& left_out) {
  std::vector<std::string> out;
  std::size_t own = 0;
  for (const auto& [metric, known] : run.metrics) {
    if (is_own_metric(metric) && ++own > most_own)
      ++left_out;
    else if (is_own_metric(metric) || find_series(metric))
      out.push_back(metric);
  }
  return out;
}

}  // namespace

Result<Recording> read_recording(store::Store& store, store::Run run, const ReadLimits& limits) {
  Recording out;
  out.run = std::move(run);
  out.gaps = parse_gaps(out.tag("plimsoll.gaps").value_or(""), out.run.start);
  const std::vector<std::string> metrics = shown_metrics(out.run, limits.own_metrics, out.metrics_left_out);
  const std::size_t most = std::clamp<std::size_t>(limits.samples / std::max<std::size_t>(metrics.size(), 1),
                                                   1000, kMostSamplesOfOne);
  for (const std::string& metric : metrics) {
    const Result<std::vector<store::Point>> points = store.history(out.run.id, metric);
    if (!points) return std::unexpected(points.error());
    add_history(out, metric, *points, most);
  }
  set_extent(out);
  return out;
}

}  // namespace plimsoll::report
