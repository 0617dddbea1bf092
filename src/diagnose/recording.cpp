#include "diagnose/recording.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "diagnose/series_catalogue.hpp"
#include "store/host_series.hpp"

namespace plimsoll::diagnose {
namespace {

constexpr std::size_t kMostGaps = 10000;
constexpr std::size_t kLongestName = 120;

std::string_view status_text(store::RunStatus status) {
  switch (status) {
    case store::RunStatus::scheduled: return "scheduled";
    case store::RunStatus::running: return "running";
    case store::RunStatus::finished: return "finished";
    case store::RunStatus::failed: return "failed";
    case store::RunStatus::killed: return "killed";
  }
  return "unknown";
}

double on_clock(double time, store::Time start) {
  return std::max(0.0, (time - static_cast<double>(start)) * 1e-6);
}

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

/// The GPU that a series is of.
std::optional<Gpu> gpu_of(std::string_view metric) {
  const auto [host, name] = store::read_host_series(metric);
  if (!name.starts_with("system/gpu/") && !name.starts_with("system/run/gpu/")) return std::nullopt;
  const std::optional<unsigned> number = series_number(name);
  return number ? std::optional(Gpu{host, *number}) : std::nullopt;
}

}  // namespace

const Series* Recording::find(const std::string& metric) const {
  const auto found = series.find(metric);
  return found == series.end() || found->second.samples.empty() ? nullptr : &found->second;
}

std::optional<std::string> Recording::tag(const std::string& name) const {
  const auto found = run.tags.find(name);
  return found == run.tags.end() || found->second.empty() ? std::nullopt : std::optional(found->second);
}

std::optional<double> Recording::number_tag(const std::string& name) const {
  const std::optional<std::string> text = tag(name);
  return text ? number(*text) : std::nullopt;
}

std::vector<Gpu> gpus_of(const Recording& recording) {
  std::set<Gpu> sampled, elsewhere;
  for (const auto& [metric, series] : recording.series)
    if (const std::optional<Gpu> gpu = gpu_of(metric)) (gpu->host.empty() ? sampled : elsewhere).insert(*gpu);
  std::set<Gpu> named;
  std::string digits;
  for (const char c : recording.tag("plimsoll.devices").value_or("") + ",") {
    if (c >= '0' && c <= '9') {
      digits += c;
      continue;
    }
    if (const std::optional<double> gpu = number(digits); gpu && *gpu < 1e4)
      named.insert({{}, static_cast<unsigned>(*gpu)});
    digits.clear();
  }
  std::vector<Gpu> out;
  std::ranges::set_intersection(sampled, named, std::back_inserter(out));
  // A tag of another form (UUIDs, a MIG slice) names none of those that were sampled: then all of them.
  if (out.empty()) out.assign(sampled.begin(), sampled.end());
  out.insert(out.end(), elsewhere.begin(), elsewhere.end());
  return out;
}

std::vector<std::pair<const std::string*, const Series*>> own_host_first(const Recording& recording) {
  std::vector<std::pair<const std::string*, const Series*>> out;
  for (const bool elsewhere : {false, true})
    for (const auto& [metric, series] : recording.series)
      if (store::is_elsewhere(metric) == elsewhere) out.emplace_back(&metric, &series);
  return out;
}

std::string gpu_text(const Gpu& gpu) {
  if (gpu.host.empty()) return fmt::format("GPU {}", gpu.number);
  return fmt::format("GPU {} of {}", gpu.number, printable(gpu.host, kLongestName));
}

std::string gpu_series(const Gpu& gpu, std::string_view what) {
  return store::host_series_name(gpu.host, fmt::format("system/gpu/{}/{}", gpu.number, what));
}

std::string run_gpu_series(const Gpu& gpu, std::string_view what) {
  return store::host_series_name(gpu.host, fmt::format("system/run/gpu/{}/{}", gpu.number, what));
}

std::string outcome_of(const Recording& recording) {
  if (const std::optional<std::string> outcome = recording.tag("plimsoll.outcome"))
    return printable(*outcome, kLongestName);
  return std::string(status_text(recording.run.status));
}

bool succeeded(const Recording& recording) {
  const std::string outcome = outcome_of(recording);
  return outcome == "finished" || outcome == "epoch-limit" || outcome == "time-limit";
}

std::vector<Span> parse_gaps(std::string_view json, store::Time start) {
  std::vector<Span> out;
  const nlohmann::json list = nlohmann::json::parse(json, nullptr, false);
  if (!list.is_array()) return out;
  for (const nlohmann::json& gap : list) {
    if (out.size() == kMostGaps) break;
    if (!gap.is_array() || gap.size() != 2 || !gap[0].is_number() || !gap[1].is_number()) continue;
    const Span span{on_clock(gap[0].get<double>(), start), on_clock(gap[1].get<double>(), start)};
    if (span.seconds() > 0) out.push_back(span);
  }
  std::ranges::sort(out, {}, &Span::from);
  return out;
}

void add_history(Recording& recording, const std::string& metric, std::span<const store::Point> points,
                 std::size_t most_samples) {
  const KnownSeries* known = find_series(metric);
  const auto described = recording.run.metrics.find(metric);
  const store::Description description =
      described == recording.run.metrics.end() ? store::Description{} : described->second.description;
  SeriesOptions options;
  options.kind = known ? known->kind : SeriesKind::own;
  options.start = recording.run.start;
  options.gaps = recording.gaps;
  options.most_samples = most_samples;
  options.irregular = known && known->shown == Shown::count;  // processes are counted when some come or go
  if (known && known->shown == Shown::share && description.unit == "%") options.scale = 0.01;
  Series series = make_series(points, options);
  series.unit = options.scale == 1 ? description.unit : "1";
  series.source = description.source;
  recording.series.insert_or_assign(metric, std::move(series));
}

void set_extent(Recording& recording) {
  recording.ended = recording.run.end.has_value();
  double last = 0;
  for (const auto& [metric, series] : recording.series)
    if (!series.samples.empty()) last = std::max(last, series.samples.back().span.to);
  recording.seconds =
      recording.ended ? on_clock(static_cast<double>(*recording.run.end), recording.run.start) : last;
  if (!recording.ended) return;
  for (auto& [metric, series] : recording.series)
    // Processes are counted when some come or go: then the last count is of a time that began long before.
    if (const KnownSeries* known = find_series(metric); known && known->shown != Shown::count)
      series.run_end = recording.seconds;
}

}  // namespace plimsoll::diagnose
