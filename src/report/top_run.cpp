#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "report/top_view.hpp"
#include "store/host_series.hpp"

namespace plimsoll::report {
namespace {

/// Where a run stands is told by these; they are no result of it.
constexpr std::array<std::string_view, 4> kPositions = {"epoch", "step", "global_step", "iteration"};

/// Of those told last at the same time the first by name, but a position only where there is nothing else.
std::optional<TopMetric> newest_metric(const store::Run& run) {
  std::optional<TopMetric> out;
  bool is_position = false;
  for (const auto& [name, metric] : run.metrics) {
    if (!store::is_own_metric(name) || metric.points == 0) continue;
    const bool position = std::ranges::find(kPositions, name) != kPositions.end();
    const bool better =
        !out || (is_position && !position) || (is_position == position && metric.latest.time > out->time);
    if (!better || (out && position && !is_position)) continue;
    out = {name, metric.latest.value, metric.latest.step, metric.latest.time};
    is_position = position;
  }
  return out;
}

std::optional<double> number_in(const std::map<std::string, std::string>& texts, std::string_view key) {
  const auto found = texts.find(std::string(key));
  if (found == texts.end()) return std::nullopt;
  double value = 0;
  const char* const end = found->second.data() + found->second.size();
  const auto [rest, problem] = std::from_chars(found->second.data(), end, value);
  if (problem != std::errc() || rest != end || !std::isfinite(value) || value <= 0) return std::nullopt;
  return value;
}

std::optional<TopProgress> progress_of(const store::Run& run, const TopRun& shown) {
  static constexpr std::array<std::string_view, 5> kEpochs = {"epochs", "num_epochs", "max_epochs",
                                                              "num_train_epochs", "n_epochs"};
  static constexpr std::array<std::string_view, 5> kSteps = {"max_steps", "total_steps", "num_steps", "steps",
                                                             "iterations"};
  const auto share = [](double done, double whole, std::string source) -> std::optional<TopProgress> {
    if (done < 0 || done > whole) return std::nullopt;  // then it means something else
    return TopProgress{done / whole, std::move(source)};
  };
  if (shown.step)
    for (const std::string_view key : kSteps)
      if (const auto whole = number_in(run.params, key))
        if (auto out = share(static_cast<double>(*shown.step), *whole, fmt::format("params.{}", key)))
          return out;
  if (!shown.epoch) return std::nullopt;
  if (const auto whole = number_in(run.tags, "plimsoll.limit.epochs"))
    return share(*shown.epoch, *whole, "tags.plimsoll.limit.epochs");
  for (const std::string_view key : kEpochs)
    if (const auto whole = number_in(run.params, key))
      return share(*shown.epoch, *whole, fmt::format("params.{}", key));
  return std::nullopt;
}

void add_position(const store::Run& run, TopRun& out) {
  out.metric = newest_metric(run);
  if (out.metric && out.metric->step > 0) out.step = out.metric->step;
  if (const auto epoch = run.metrics.find("epoch");
      epoch != run.metrics.end() && std::isfinite(epoch->second.latest.value))
    out.epoch = epoch->second.latest.value;
  out.progress = progress_of(run, out);
  // At the pace so far, up to when that was told; too little says nothing.
  constexpr double kLeastShare = 0.01;
  if (!out.progress || out.progress->share < kLeastShare || !out.metric || out.metric->time <= run.start)
    return;
  const double so_far = static_cast<double>(out.metric->time - run.start);
  out.expected_end = run.start + static_cast<std::int64_t>(so_far / out.progress->share);
}

}  // namespace

TopRun top_run(const store::Run& run, std::int64_t now) {
  TopRun out{.id = run.id, .name = run.name, .experiment = run.experiment};
  if (const auto host = run.tags.find("plimsoll.host"); host != run.tags.end()) out.host = host->second;
  if (run.start > 0 && now >= run.start) out.elapsed = Seconds(static_cast<double>(now - run.start) * 1e-6);
  add_position(run, out);
  // Of all hosts that the run is on, together.
  for (auto it = run.metrics.lower_bound("system/"); it != run.metrics.end(); ++it) {
    if (!it->first.starts_with("system/")) break;
    const std::string metric = store::read_host_series(it->first).name;
    const double value = it->second.latest.value;
    if (metric == "system/run/cpu") out.cpu = out.cpu.value_or(0) + value;
    if (metric == "system/run/memory") out.memory = out.memory.value_or(Bytes()) + Bytes::rounded(value);
    constexpr std::string_view kGpu = "system/run/gpu/";
    if (!metric.starts_with(kGpu)) continue;
    const std::string_view name = std::string_view(metric).substr(metric.rfind('/') + 1);
    if (name == "memory") out.gpu_memory = out.gpu_memory.value_or(Bytes()) + Bytes::rounded(value);
    if (name == "sm_activity") out.sm_activity = out.sm_activity.value_or(0) + value;
    if (name == "energy") out.energy = out.energy.value_or(Joules()) + Joules(value);
    unsigned number = 0;
    const std::string_view rest = std::string_view(metric).substr(kGpu.size());
    if (store::is_elsewhere(it->first) ||
        std::from_chars(rest.data(), rest.data() + rest.size(), number).ec != std::errc())
      continue;
    if (std::ranges::find(out.gpus, number) == out.gpus.end()) out.gpus.push_back(number);
  }
  return out;
}

}  // namespace plimsoll::report
