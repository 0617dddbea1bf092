#include <cmath>

#include "base/printable.hpp"
#include "nvml/activity.hpp"
#include "report/top_view.hpp"

namespace plimsoll::report {
namespace {

using Json = nlohmann::ordered_json;

Json number(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
}
Json number(const std::optional<Bytes>& value) {
  return value ? Json(value->count()) : Json();
}
template <class Tag>
Json number(const std::optional<Quantity<Tag>>& value) {
  return value ? Json(value->value()) : Json();
}

Json reasons(std::uint64_t bits) {
  Json out = Json::array();
  for (const nvml::Throttle& reason : nvml::kThrottles)
    if ((bits & reason.bit) != 0) out.push_back(reason.name);
  return out;
}

/// What is no number is none in JSON either.
Json numbers(const std::vector<double>& values) {
  Json out = Json::array();
  for (const double value : values) out.push_back(std::isfinite(value) ? Json(value) : Json());
  return out;
}

Json gpu_json(const TopGpu& gpu) {
  Json out = {{"gpu", gpu.number},
              {"name", printable(gpu.name)},
              {"memory_used_bytes", number(gpu.memory_used)},
              {"memory_total_bytes", number(gpu.memory_total)},
              {"sm_activity", number(gpu.sm_activity)},
              {"utilization", number(gpu.utilization)},
              {"tensor_activity", number(gpu.tensor_activity)},
              {"dram_activity", number(gpu.dram_activity)},
              {"power_watts", number(gpu.power)},
              {"power_limit_watts", number(gpu.power_limit)},
              {"energy_joules", number(gpu.energy)},
              {"temperature_celsius", number(gpu.temperature)},
              {"sm_clock_hertz", number(gpu.sm_clock)},
              {"clocks_low_because", gpu.throttle ? reasons(*gpu.throttle) : Json()},
              {"history", numbers(gpu.history)}};
  Json slices = Json::array();
  for (const TopSlice& slice : gpu.slices)
    slices.push_back({{"gpu_instance", slice.gpu_instance},
                      {"sm_activity", number(slice.sm_activity)},
                      {"memory_used_bytes", number(slice.memory_used)}});
  out["slices"] = std::move(slices);
  Json processes = Json::array();
  for (const TopProcess& process : gpu.processes)
    processes.push_back({{"pid", process.pid},
                         {"command", process.command.empty() ? Json() : Json(printable(process.command))},
                         {"memory_bytes", number(process.memory)},
                         {"time_share", number(process.time_share)}});
  out["processes"] = std::move(processes);
  return out;
}

Json target_json(const std::optional<learn::RunTarget>& target) {
  if (!target) return {};
  Json expected;
  if (target->expected)
    expected = {{"seconds", target->expected->value},
                {"low_seconds", target->expected->low},
                {"high_seconds", target->expected->high},
                {"confidence", learn::kForecastConfidence}};
  return {{"target", printable(learn::target_text(target->target))},
          {"reached", target->seen.reached},
          {"seconds", target->seen.time},
          {"expected", std::move(expected)}};
}

Json metric_json(const std::optional<TopMetric>& metric) {
  if (!metric) return {};
  return {{"key", printable(metric->name)},
          {"value", std::isfinite(metric->value) ? Json(metric->value) : Json()},
          {"step", metric->step},
          {"time_microseconds", metric->time}};
}

Json run_json(const TopRun& run) {
  return {{"id", run.id},
          {"name", printable(run.name)},
          {"experiment", printable(run.experiment)},
          {"elapsed_seconds", number(run.elapsed)},
          {"cpu_cores", number(run.cpu)},
          {"memory_bytes", number(run.memory)},
          {"gpu_memory_bytes", number(run.gpu_memory)},
          {"sm_activity", number(run.sm_activity)},
          {"energy_joules", number(run.energy)},
          {"target", target_json(run.target)},
          {"metric", metric_json(run.metric)},
          {"history", numbers(run.history)},
          {"epoch", number(run.epoch)},
          {"step", run.step ? Json(*run.step) : Json()},
          {"progress", run.progress ? Json(run.progress->share) : Json()},
          {"progress_source", run.progress ? Json(printable(run.progress->source)) : Json()},
          {"expected_end_microseconds", run.expected_end ? Json(*run.expected_end) : Json()},
          {"host", run.host.empty() ? Json() : Json(printable(run.host))},
          {"gpus", run.gpus}};
}

Json alarm_json(const TopAlarm& alarm) {
  return {{"kind", alarm.kind},
          {"severity", alarm.is_critical ? "critical" : "warning"},
          {"gpu", alarm.gpu ? Json(*alarm.gpu) : Json()},
          {"run", alarm.run.empty() ? Json() : Json(alarm.run)},
          {"text", printable(alarm.text)}};
}

}  // namespace

Json top_json(const TopView& view) {
  const TopHost& host = view.host;
  Json out = {{"time_microseconds", view.time},
              {"watched_seconds", view.watched.value()},
              {"driver", view.driver.empty() ? Json() : Json(printable(view.driver))},
              {"host",
               {{"name", printable(host.name)},
                {"cores", host.cores},
                {"cpu_cores", number(host.cpu)},
                {"memory_used_bytes", number(host.memory_used)},
                {"memory_total_bytes", number(host.memory_total)},
                {"swap_used_bytes", number(host.swap_used)},
                {"cpu_pressure", number(host.cpu_pressure)},
                {"memory_pressure", number(host.memory_pressure)},
                {"io_pressure", number(host.io_pressure)},
                {"cgroup_memory_bytes", number(host.cgroup_memory)},
                {"cgroup_memory_limit_bytes", number(host.cgroup_memory_limit)},
                {"package_energy_joules", number(host.package_energy)}}},
              {"no_gpu", view.no_gpu.empty() ? Json() : Json(printable(view.no_gpu))}};
  Json gpus = Json::array();
  for (const TopGpu& gpu : view.gpus) gpus.push_back(gpu_json(gpu));
  out["gpus"] = std::move(gpus);
  if (view.no_runs.empty()) {
    Json runs = Json::array();
    for (const TopRun& run : view.runs) runs.push_back(run_json(run));
    out["runs"] = std::move(runs);
  } else {
    out["runs"] = Json();
    out["no_runs"] = printable(view.no_runs);
  }
  if (view.queue) {
    Json next = Json::array();
    for (const TopJob& job : view.queue->next)
      next.push_back(
          {{"number", job.number}, {"name", printable(job.name)}, {"waits_because", printable(job.why)}});
    out["queue"] = {{"running", view.queue->running},
                    {"waiting", view.queue->waiting},
                    {"held", view.queue->held},
                    {"next", std::move(next)}};
  } else {
    out["queue"] = Json();
  }
  Json alarms = Json::array();
  for (const TopAlarm& alarm : top_alarms(view)) alarms.push_back(alarm_json(alarm));
  out["alarms"] = std::move(alarms);
  return out;
}

}  // namespace plimsoll::report
