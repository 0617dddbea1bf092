#include "diagnose/recording_reader.hpp"

#include <algorithm>
#include <fstream>
#include <vector>

#include "diagnose/series_catalogue.hpp"
#include "store/host_series.hpp"

namespace plimsoll::diagnose {
namespace {

constexpr std::size_t kMostSamplesOfOne = 50000;
constexpr std::int64_t kLogTail = 4000;  ///< bytes

/// The metrics that are shown, the command's own among them up to a limit.
std::vector<std::string> shown_metrics(const store::Run& run, std::size_t most_own, std::size_t& left_out) {
  std::vector<std::string> out;
  std::size_t own = 0;
  for (const auto& [metric, known] : run.metrics) {
    if (store::is_own_metric(metric) && ++own > most_own)
      ++left_out;
    else if (store::is_own_metric(metric) || find_series(metric))
      out.push_back(metric);
  }
  return out;
}

/// The last lines of what the command printed; empty where nothing was kept of it, or it cannot be read: a
/// report can do without.
std::string last_lines(store::Store& store, const store::Run& run) {
  const Result<std::vector<store::File>> files = store.files(run.id);
  if (!files || std::ranges::find(*files, "output.log", &store::File::path) == files->end()) return {};
  const Result<std::filesystem::path> folder = store.artifacts(run.id);
  if (!folder) return {};
  // Read rather than mapped: the run may still be writing it.
  std::ifstream log(*folder / "output.log", std::ios::binary | std::ios::ate);
  const auto size = static_cast<std::int64_t>(log.tellg());
  if (!log || size <= 0) return {};
  std::string text(static_cast<std::size_t>(std::min(size, kLogTail)), '\0');
  log.seekg(-static_cast<std::streamoff>(text.size()), std::ios::end);
  log.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, log.gcount())));
  // The first line is whole only where the tail is all there is.
  if (size > kLogTail) text.erase(0, text.find('\n') + 1);
  return text;
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
  out.log_tail = last_lines(store, out.run);
  return out;
}

void count_points(store::Store& store, store::Run& run) {
  constexpr std::int64_t kMostRead = 1'000'000;  // of one metric: a page is not worth waiting for more
  for (auto& [metric, known] : run.metrics) {
    // What Plimsoll samples it sends once.
    if (!store::is_own_metric(metric) || known.points > kMostRead) continue;
    if (const Result<std::vector<store::Point>> points = store.history(run.id, metric))
      known.points = static_cast<std::int64_t>(points->size());
  }
}

}  // namespace plimsoll::diagnose
