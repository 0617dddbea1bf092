#include "run/gpu_use.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace plimsoll::running {

GpuUse::What GpuUse::what(const telemetry::Series& series) {
  if (!series.gpu) return What::other;
  // Whole names: slices of the GPU have series of their own.
  const auto is = [&](std::string_view of, std::string_view name) {
    return series.name == fmt::format("system/{}/{}/{}", of, *series.gpu, name);
  };
  if (series.run) {
    if (is("run/gpu", "memory")) return What::memory;
    return is("run/gpu", "sm_activity") ? What::sm_activity : What::other;
  }
  if (is("gpu", "sm_activity")) return What::gpu_sm_activity;
  if (is("gpu", "dram_activity")) return What::gpu_dram_activity;
  return is("gpu", "power") ? What::gpu_watts : What::other;
}

void GpuUse::see(const telemetry::Frame& frame, const std::vector<telemetry::Series>& series) {
  const std::scoped_lock lock(mutex_);
  while (kinds_.size() < series.size()) kinds_.push_back(what(series[kinds_.size()]));
  for (const telemetry::Reading& reading : frame.values) {
    const What kind = kinds_.at(reading.series);
    if (kind == What::other) continue;
    const telemetry::Series& of = series[reading.series];
    switch (kind) {
      case What::memory: {
        runs_[*of.run][*of.gpu].memory = reading.value;
        double& peak = peaks_[*of.run];
        peak = std::max(peak, reading.value);
        break;
      }
      case What::sm_activity: runs_[*of.run][*of.gpu].sm_activity = reading.value; break;
      case What::gpu_sm_activity: gpus_[*of.gpu].sm_activity = reading.value; break;
      case What::gpu_dram_activity: gpus_[*of.gpu].dram_activity = reading.value; break;
      case What::gpu_watts: gpus_[*of.gpu].watts = reading.value; break;
      case What::other: break;
    }
  }
}

void GpuUse::add_to(Progress& progress, int run) const {
  const std::scoped_lock lock(mutex_);
  const auto found = runs_.find(run);
  if (found == runs_.end()) return;
  const auto& [gpu, use] = *std::ranges::max_element(
      found->second, {}, [](const auto& entry) { return entry.second.memory.value_or(-1); });
  if (use.memory) progress.gpu_bytes = Bytes::rounded(*use.memory);
  progress.sm_activity = use.sm_activity;
  const auto whole = gpus_.find(gpu);
  if (whole == gpus_.end()) return;
  progress.gpu_sm_activity = whole->second.sm_activity;
  progress.gpu_dram_activity = whole->second.dram_activity;
  progress.gpu_watts = whole->second.watts;
}

std::optional<Bytes> GpuUse::peak(int run) const {
  const std::scoped_lock lock(mutex_);
  const auto found = peaks_.find(run);
  return found == peaks_.end() ? std::nullopt : std::optional(Bytes::rounded(found->second));
}

}  // namespace plimsoll::running
