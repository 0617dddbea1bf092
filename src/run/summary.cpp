#include "run/summary.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "store/host_series.hpp"

namespace plimsoll::running {
namespace {

/// What becomes of one series over the whole run.
struct Rule {
  std::string_view series;  // with N for a GPU's or a package's number
  std::string_view summary;
  double (*reduce)(const store::Span&);
  std::string_view unit;
  bool sum = true;  // of several GPUs, of all hosts; else the mean
};

double mean(const store::Span& span) {
  return span.mean;
}
double peak(const store::Span& span) {
  return span.maximum;
}
/// Of a counter, which never falls: its last value less its first.
double growth(const store::Span& span) {
  return span.maximum - span.minimum;
}
constexpr Rule kRules[] = {
    {"system/gpu/N/energy", "summary/gpu_energy", growth, "J"},
    {"system/run/gpu/N/energy", "summary/gpu_energy_share", growth, "J"},
    {"system/gpu/N/sm_activity", "summary/sm_activity_mean", mean, "1", false},
    {"system/gpu/N/utilization", "summary/utilization_mean", mean, "1", false},
    {"system/run/gpu/N/sm_share", "summary/sm_share_mean", mean, "1", false},
    {"system/run/gpu/N/sm_activity", "summary/sm_activity_share_mean", mean, "1", false},
    {"system/run/gpu/N/memory", "summary/gpu_memory_peak", peak, "B"},
    {"system/run/cpu_time", "summary/cpu_seconds", growth, "s"},
    {"system/run/memory", "summary/memory_peak", peak, "B"},
    {"system/host/package/N/energy", "summary/host_energy", growth, "J"},
};

// Means over the span in which the command told of its work.
constexpr std::pair<std::string_view, std::string_view> kWorking[] = {
    {"system/gpu/N/sm_activity", "summary/sm_activity_working"},
    {"system/gpu/N/utilization", "summary/utilization_working"},
    {"system/run/gpu/N/sm_share", "summary/sm_share_working"},
    {"system/run/gpu/N/sm_activity", "summary/sm_activity_share_working"},
};

/// Whether `name` is `pattern` with a number in the place of N.
bool fits(std::string_view name, std::string_view pattern) {
  const auto place = pattern.find('N');
  if (place == std::string_view::npos) return name == pattern;
  const std::string_view before = pattern.substr(0, place);
  const std::string_view after = pattern.substr(place + 1);
  if (!name.starts_with(before) || !name.ends_with(after) || name.size() <= before.size() + after.size())
    return false;
  const std::string_view number = name.substr(before.size(), name.size() - before.size() - after.size());
  return std::ranges::all_of(number, [](char c) { return c >= '0' && c <= '9'; });
}

/// A metric in one span, from its outline; nothing where it has no points there, NaNs where it cannot be
/// read. An error: it may be read later.
Result<std::optional<store::Span>> span_of(store::Store& store, const store::Run& run,
                                           const std::string& metric, std::optional<store::Time> from = {},
                                           std::optional<store::Time> to = {}) {
  auto outline = store.outline(run.id, metric, 1, from, to);
  if (!outline && outline.error().may_pass()) return std::unexpected(std::move(outline).error());
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  if (!outline) return store::Span{.minimum = kUnknown, .maximum = kUnknown, .mean = kUnknown};
  return outline->empty() ? std::nullopt : std::optional(outline->front());
}

/// One figure of all series of a run that fit a pattern; nothing where there is none, a NaN where one of them
/// cannot be read: the energy of two GPUs of three would be no energy of the run.
Result<std::optional<double>> figure_of(store::Store& store, const store::Run& run, const Rule& rule,
                                        std::int64_t least_points, std::optional<store::Time> from = {},
                                        std::optional<store::Time> to = {}) {
  double sum = 0;
  int found = 0;
  for (const auto& [metric, facts] : run.metrics) {
    if (facts.points < least_points || !fits(store::read_host_series(metric).name, rule.series)) continue;
    const auto span = span_of(store, run, metric, from, to);
    if (!span) return std::unexpected(span.error());
    if (!*span) continue;
    sum += rule.reduce(**span);
    ++found;
  }
  if (found == 0) return std::nullopt;
  return rule.sum ? sum : sum / found;
}

/// From the command's first to its last metric with steps, and how many steps a second that was.
struct Work {
  store::Time from = 0;
  store::Time to = 0;
  std::optional<double> steps_per_second = {};
};
Result<std::optional<Work>> work_of(store::Store& store, const store::Run& run) {
  std::optional<Work> out;
  for (const auto& [metric, facts] : run.metrics) {
    if (!store::is_own_metric(metric) || facts.points < 2) continue;
    const auto span = span_of(store, run, metric);
    if (!span) return std::unexpected(span.error());
    if (!*span || (*span)->last <= (*span)->first) continue;
    const store::Time first = (*span)->first, last = (*span)->last;
    if (out && out->to - out->from >= last - first) continue;
    const auto steps = static_cast<double>((*span)->last_step - (*span)->first_step);
    const double seconds = static_cast<double>(last - first) * 1e-6;
    out = Work{first, last, steps > 0 ? std::optional(steps / seconds) : std::nullopt};
  }
  return out;
}

}  // namespace

Result<std::vector<store::Batch>> summarise(store::Store& store, const store::Run& run, store::Time end) {
  std::vector<store::Batch> out;
  const auto add = [&](std::string_view name, double value, std::string_view unit) {
    if (!std::isfinite(value)) return;
    out.push_back(
        {run.id, std::string(name), {std::string(unit), "from the run's samples"}, {{end, 0, value}}});
  };
  add("summary/seconds", static_cast<double>(end - run.start) * 1e-6, "s");
  for (const Rule& rule : kRules) {
    const auto figure = figure_of(store, run, rule, 2);
    if (!figure) return std::unexpected(figure.error());
    if (*figure) add(rule.summary, **figure, rule.unit);
  }
  const auto work = work_of(store, run);
  if (!work) return std::unexpected(work.error());
  if (!*work) return out;
  if ((*work)->steps_per_second) add("summary/steps_per_second", *(*work)->steps_per_second, "1/s");
  for (const auto& [series, summary] : kWorking) {
    const Rule rule{series, summary, mean, "1", false};
    const auto figure = figure_of(store, run, rule, 1, (*work)->from, (*work)->to);
    if (!figure) return std::unexpected(figure.error());
    if (*figure) add(summary, **figure, "1");
  }
  return out;
}

std::optional<SoloProfile> solo_profile(store::Store& store, std::string_view fingerprint,
                                        std::string_view device_name) {
  store::Search search;
  search.filter =
      fmt::format("tags.`plimsoll.fingerprint` = '{}' and tags.`plimsoll.mode` = 'alone'", fingerprint);
  search.limit = 20;
  const auto runs = store.search(search);
  if (!runs) return {};
  for (const store::Run& run : *runs) {
    const auto activity = run.metrics.find("summary/sm_activity_working");
    const auto device = run.tags.find("plimsoll.device.0.name");
    if (activity == run.metrics.end() || device == run.tags.end() || device->second != device_name) continue;
    SoloProfile profile{run.id, activity->second.latest.value};
    if (const auto rate = run.metrics.find("summary/steps_per_second"); rate != run.metrics.end())
      profile.steps_per_second = rate->second.latest.value;
    if (profile.sm_activity > 0) return profile;
  }
  return {};
}

std::optional<Bytes> last_gpu_memory(store::Store& store, std::string_view fingerprint) {
  store::Search search;
  search.filter = fmt::format("tags.`plimsoll.fingerprint` = '{}'", fingerprint);
  search.limit = 20;
  const auto runs = store.search(search);
  if (!runs) return {};
  for (const store::Run& run : *runs) {
    // One that ran out of memory, or was ended early, may not have reached its peak.
    if (run.status != store::RunStatus::finished) continue;
    if (const auto found = run.metrics.find("summary/gpu_memory_peak"); found != run.metrics.end())
      return Bytes::rounded(found->second.latest.value);
  }
  return {};
}

}  // namespace plimsoll::running
