#include "diagnose/run_figures.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "diagnose/thresholds.hpp"

namespace plimsoll::diagnose {
namespace {

/// As NVML numbers the reasons for which clocks are held down.
constexpr std::uint64_t kPowerBits = 0x4 | 0x80;        // software power cap, hardware power brake
constexpr std::uint64_t kHeatBits = 0x8 | 0x20 | 0x40;  // hardware slowdown, software and hardware thermal
/// A sample in which no kernel ran for more than half of the time is a wait.
constexpr double kWaiting = 0.5;
constexpr double kShortestWaits = 1;  ///< seconds in all; fewer do not make a mean

std::optional<double> mean(const Series* series, std::span<const Span> spans) {
  if (!series) return std::nullopt;
  const std::optional<Average> found = average(*series, spans);
  return found ? std::optional(found->mean) : std::nullopt;
}

std::optional<double> mean(const Series* series, Span span) {
  return mean(series, std::span(&span, 1));
}

std::optional<double> highest(const Series* series, Span span) {
  if (!series) return std::nullopt;
  const std::optional<Average> found = average(*series, span);
  return found ? std::optional(found->high) : std::nullopt;
}

std::optional<double> grown(const Series* counter, Span span) {
  if (!counter) return std::nullopt;
  const std::optional<Growth> found = growth(*counter, span);
  return found ? std::optional(found->amount) : std::nullopt;
}

std::optional<double> flagged(const Series* flags, std::uint64_t bits, Span span) {
  if (!flags) return std::nullopt;
  double with = 0, known = 0;
  for (const Sample& sample : samples_of_run(*flags)) {
    const double part = std::min(sample.span.to, span.to) - std::max(sample.span.from, span.from);
    if (part <= 0 || !(sample.value >= 0 && sample.value < 0x1p53)) continue;
    known += part;
    if ((static_cast<std::uint64_t>(sample.value) & bits) != 0) with += part;
  }
  return known > 0 ? std::optional(with / known) : std::nullopt;
}

/// The idle spans within `part`, and the energy in them.
Idle idle_within(const std::vector<Span>& idle, Span part, const Series* energy) {
  Idle out;
  double joules = 0;
  bool counted = energy != nullptr;
  for (const Span& span : idle) {
    const Span common{std::max(span.from, part.from), std::min(span.to, part.to)};
    if (common.seconds() <= 0) continue;
    out.seconds += common.seconds();
    if (!energy) continue;
    const std::optional<double> taken = increase(*energy, common);
    counted = counted && taken;
    joules += taken.value_or(0);
  }
  if (counted) out.joules = joules;
  return out;
}

void find_work(const Recording& recording, Span span, GpuFigures& out) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kGauges = {
      {{"sm_activity", "SM activity"},
       {"graphics_activity", "kernels running"},
       {"utilization", "utilization"}}};
  for (const auto& [what, label] : kGauges) {
    const Series* gauge = recording.find(gpu_series(out.gpu, what));
    const std::optional<Average> known = gauge ? average(*gauge, span) : std::nullopt;
    if (!known) continue;
    out.busy_by = label;
    out.known_seconds = known->seconds;
    const std::vector<Span> busy = spans_from(*gauge, kNearIdle.value, span);
    const std::vector<Span> idle = spans_below(*gauge, kNearIdle.value, span);
    if (!busy.empty()) out.work = Span{busy.front().from, busy.back().to};
    const Span work = out.work.value_or(Span{span.to, span.to});
    const Series* energy = recording.find(gpu_series(out.gpu, "energy"));
    out.before = idle_within(idle, {span.from, work.from}, energy);
    out.between = idle_within(idle, work, energy);
    out.after = idle_within(idle, {work.to, span.to}, energy);
    return;
  }
}

/// `tagged`: the number that the run's tags have of it; nothing of another host's.
GpuFigures gpu_figures(const Recording& recording, const Gpu& gpu, std::optional<std::size_t> tagged,
                       Span span) {
  GpuFigures out;
  out.gpu = gpu;
  if (tagged) {
    out.name = printable(recording.tag(fmt::format("plimsoll.device.{}.name", *tagged)).value_or(""), 80);
    out.memory_bytes = recording.number_tag(fmt::format("plimsoll.device.{}.memory_bytes", *tagged));
  }
  if (out.memory_bytes && !(*out.memory_bytes > 0)) out.memory_bytes.reset();
  find_work(recording, span, out);
  const auto of_gpu = [&](std::string_view what) { return recording.find(gpu_series(gpu, what)); };
  const auto of_run = [&](std::string_view what) { return recording.find(run_gpu_series(gpu, what)); };
  out.mean_sm_activity = mean(of_gpu("sm_activity"), span);
  out.mean_utilization = mean(of_gpu("utilization"), span);
  out.watts = mean(of_gpu("power"), span);
  out.joules = grown(of_gpu("energy"), span);
  out.run_joules = grown(of_run("energy"), span);
  out.memory_peak = highest(of_gpu("memory_used"), span);
  out.run_memory_peak = highest(of_run("memory"), span);
  const Span work = out.work.value_or(span);
  out.sm_activity = mean(of_gpu("sm_activity"), work);
  out.kernel_activity = mean(of_gpu("graphics_activity"), work);
  if (!out.kernel_activity) out.kernel_activity = mean(of_gpu("utilization"), work);
  out.tensor = mean(of_gpu("tensor_activity"), work);
  out.fp32 = mean(of_gpu("fp32_activity"), work);
  out.fp16 = mean(of_gpu("fp16_activity"), work);
  out.fp64 = mean(of_gpu("fp64_activity"), work);
  out.dram = mean(of_gpu("dram_activity"), work);
  out.sm_share = mean(of_run("sm_share"), work);
  out.power_capped = flagged(of_gpu("throttle"), kPowerBits, work);
  out.too_hot = flagged(of_gpu("throttle"), kHeatBits, work);
  out.sm_clock = mean(of_gpu("sm_clock"), work);
  out.highest_sm_clock = highest(of_gpu("sm_clock"), span);
  return out;
}

/// The time in which a GPU had no kernel for half of the time, and the rest of its work. Where the waits are
/// shorter than a sample both are the whole; so they are without a GPU.
struct Phases {
  std::vector<Span> waiting, working;
};
Phases phases_of(const Recording& recording, const std::vector<GpuFigures>& gpus, Span span) {
  for (const GpuFigures& gpu : gpus) {
    const Series* kernels = recording.find(gpu_series(gpu.gpu, "graphics_activity"));
    if (!kernels) kernels = recording.find(gpu_series(gpu.gpu, "utilization"));
    if (!kernels || !gpu.work) continue;
    Phases out{spans_below(*kernels, kWaiting, *gpu.work), spans_from(*kernels, kWaiting, *gpu.work)};
    if (seconds(out.waiting) < kShortestWaits) out.waiting = {*gpu.work};
    if (seconds(out.working) < kShortestWaits) out.working = {*gpu.work};
    return out;
  }
  return {{span}, {span}};
}

HostFigures host_figures(const Recording& recording, const std::vector<GpuFigures>& gpus, Span span) {
  HostFigures out;
  out.cores = recording.number_tag("plimsoll.host.cores");
  if (out.cores && !(*out.cores > 0)) out.cores.reset();
  const auto [waiting, working] = phases_of(recording, gpus, span);
  out.cpu = mean(recording.find("system/run/cpu"), span);
  out.cpu_while_waiting = mean(recording.find("system/run/cpu"), waiting);
  out.cpu_while_working = mean(recording.find("system/run/cpu"), working);
  out.machine_cpu = mean(recording.find("system/host/cpu"), waiting);
  out.io_pressure = mean(recording.find("system/host/io_pressure"), waiting);
  out.cpu_pressure = mean(recording.find("system/host/cpu_pressure"), waiting);
  out.held_back = mean(recording.find("system/host/cgroup_throttled"), waiting);
  out.memory_pressure = mean(recording.find("system/host/memory_pressure"), span);
  out.memory_peak = highest(recording.find("system/run/memory"), span);
  out.swap_peak = highest(recording.find("system/host/swap_used"), span);
  out.read = mean(recording.find("system/run/read"), span);
  const std::optional<double> used = highest(recording.find("system/host/cgroup_memory"), span);
  const Series* limit = recording.find("system/host/cgroup_memory_limit");
  if (const std::optional<Average> most = limit ? average(*limit, span) : std::nullopt;
      used && most && most->low > 0)
    out.memory_limit_use = *used / most->low;
  for (const auto& [metric, series] : recording.series)
    if (metric.starts_with("system/host/package/") && metric.ends_with("/energy"))
      if (const std::optional<double> joules = grown(&series, span))
        out.joules = out.joules.value_or(0) + *joules;
  return out;
}

}  // namespace

RunFigures figures_of(const Recording& recording, Span span) {
  RunFigures out{span, {}, {}};
  const std::vector<Gpu> gpus = gpus_of(recording);
  // The tags of devices are numbered as the GPUs are, or by their place in the run's own list.
  const bool by_number = std::ranges::all_of(gpus, [&](const Gpu& gpu) {
    return !gpu.host.empty() || recording.tag(fmt::format("plimsoll.device.{}.name", gpu.number)).has_value();
  });
  for (std::size_t place = 0; place < gpus.size(); ++place) {
    std::optional<std::size_t> tagged;
    if (gpus[place].host.empty()) tagged = by_number ? gpus[place].number : place;
    out.gpus.push_back(gpu_figures(recording, gpus[place], tagged, span));
  }
  out.host = host_figures(recording, out.gpus, span);
  return out;
}

}  // namespace plimsoll::diagnose
