#include <algorithm>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "nvml/activity.hpp"
#include "report/top_view.hpp"

namespace plimsoll::report {
namespace {

constexpr double kNearlyFull = 0.95, kFull = 0.99;
constexpr double kIdle = 0.01;
/// So many views in a row, each of some second.
constexpr std::size_t kIdleViews = 60;

std::optional<double> share(const std::optional<Bytes>& part, const std::optional<Bytes>& whole) {
  if (!part || !whole || *whole <= Bytes()) return std::nullopt;
  return *part / *whole;
}

void add_full(std::vector<TopAlarm>& out, std::string_view what, std::optional<double> full,
              std::optional<unsigned> gpu) {
  if (!full || *full < kNearlyFull) return;
  out.push_back(
      {.kind = "memory",
       .is_critical = *full >= kFull,
       .gpu = gpu,
       .text = fmt::format("{}: {:.0f} % of its memory is taken; what asks for more ends out of memory", what,
                           100 * *full)});
}

void add_slowed(std::vector<TopAlarm>& out, const TopGpu& gpu, std::string_view name) {
  std::string reasons;
  for (const nvml::Throttle& reason : nvml::kThrottles)
    if (reason.slows && (gpu.throttle.value_or(0) & reason.bit) != 0)
      reasons += fmt::format("{}{}", reasons.empty() ? "" : ", ", reason.name);
  if (!reasons.empty())
    out.push_back({.kind = "throttled",
                   .gpu = gpu.number,
                   .text = fmt::format("{}: its clocks are held down: {}", name, reasons)});
}

/// Who holds memory of a GPU that does nothing keeps it from others.
void add_idle(std::vector<TopAlarm>& out, const TopGpu& gpu, std::string_view name) {
  if (gpu.processes.empty() || gpu.history.size() < kIdleViews) return;
  const auto last = gpu.history.end() - static_cast<std::ptrdiff_t>(kIdleViews);
  if (std::any_of(last, gpu.history.end(), [](double activity) { return activity >= kIdle; })) return;
  const TopProcess& holder = gpu.processes.front();
  out.push_back(
      {.kind = "idle",
       .gpu = gpu.number,
       .text = fmt::format("{}: held by process {}{}, and idle for a minute", name, holder.pid,
                           holder.command.empty() ? "" : " (" + printable(holder.command, 100) + ")")});
}

}  // namespace

std::vector<TopAlarm> top_alarms(const TopView& view) {
  std::vector<TopAlarm> out;
  for (const TopGpu& gpu : view.gpus) {
    const std::string name = fmt::format("GPU {}", gpu.number);
    add_full(out, name, share(gpu.memory_used, gpu.memory_total), gpu.number);
    add_slowed(out, gpu, name);
    add_idle(out, gpu, name);
  }
  add_full(out, "this machine", share(view.host.memory_used, view.host.memory_total), {});
  add_full(out, "this control group", share(view.host.cgroup_memory, view.host.cgroup_memory_limit), {});
  if (view.queue)
    for (const TopSlowJob& job : view.queue->slow)
      out.push_back(
          {.kind = "slow",
           .run = job.run,
           .text = fmt::format("job {} ({}) has {:.2f} of its speed alone where {:.2f} were promised: "
                               "`plimsoll queue {}` tells beside whom it runs",
                               job.number, printable(job.name, 100), job.speed, job.promised, job.number)});
  return out;
}

}  // namespace plimsoll::report
