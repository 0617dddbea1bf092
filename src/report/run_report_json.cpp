#include <cmath>

#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "report/advice_report.hpp"
#include "report/run_report.hpp"

namespace plimsoll::report {
namespace {

using diagnose::AverageRow;
using diagnose::Evidence;
using diagnose::Finding;
using diagnose::GpuFigures;
using diagnose::Lap;
using diagnose::Laps;
using diagnose::Recording;
using diagnose::Threshold;
using diagnose::thresholds;
using diagnose::Verdict;
using diagnose::Waste;

using Json = nlohmann::ordered_json;

/// What is unknown, or no number, is null.
Json number(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json();
}

Json to_json(const Finding& finding) {
  Json out = {
      {"id", finding.id}, {"title", finding.title}, {"text", finding.text}, {"evidence", Json::array()}};
  for (const Evidence& evidence : finding.evidence) {
    Json one = {
        {"figure", evidence.label}, {"value", number(evidence.value)}, {"kind", name(evidence.shown)}};
    one["threshold"] = evidence.threshold ? Json(evidence.threshold->name) : Json();
    out["evidence"].push_back(std::move(one));
  }
  out["advice"] = finding.advice;
  return out;
}

Json to_json(const Verdict& verdict) {
  Json out = {{"bottleneck", name(verdict.limiter)}};
  out.update(to_json(verdict.main));
  out["outcome"] = verdict.outcome ? to_json(*verdict.outcome) : Json();
  out["findings"] = Json::array();
  for (const Finding& finding : verdict.findings) out["findings"].push_back(to_json(finding));
  out["utilization"] = verdict.utilization ? to_json(*verdict.utilization) : Json();
  return out;
}

Json to_json(const Waste& waste) {
  return {{"gpu_seconds", number(waste.gpu_seconds)},
          {"near_idle_gpu_seconds", number(waste.idle_seconds)},
          {"near_idle_before_seconds", number(waste.idle_before)},
          {"near_idle_within_seconds", number(waste.idle_between)},
          {"near_idle_after_seconds", number(waste.idle_after)},
          {"gpu_joules", number(waste.joules)},
          {"near_idle_joules", number(waste.idle_joules)},
          {"text", waste.text}};
}

Json to_json(const GpuFigures& gpu) {
  return {{"gpu", gpu.gpu.number},
          {"host", gpu.gpu.host.empty() ? Json() : Json(printable(gpu.gpu.host))},
          {"name", gpu.name.empty() ? Json() : Json(gpu.name)},
          {"memory_bytes", number(gpu.memory_bytes)},
          {"work_from_seconds", gpu.work ? Json(gpu.work->from) : Json()},
          {"work_to_seconds", gpu.work ? Json(gpu.work->to) : Json()},
          {"sm_activity", number(gpu.mean_sm_activity)},
          {"utilization", number(gpu.mean_utilization)},
          {"watts", number(gpu.watts)},
          {"joules", number(gpu.joules)},
          {"run_joules", number(gpu.run_joules)},
          {"peak_memory_bytes", number(gpu.memory_peak)},
          {"run_peak_memory_bytes", number(gpu.run_memory_peak)},
          {"run_sm_share", number(gpu.sm_share)}};
}

Json to_json(const Laps& laps) {
  Json rows = Json::array();
  for (const Lap& s : laps.rows)
    rows.push_back({{"first", s.first},
                    {"last", s.last},
                    {"recorded", s.recorded ? Json(*s.recorded) : Json()},
                    {"from_seconds", s.span.from},
                    {"seconds", s.span.seconds()},
                    {"value", number(s.value)},
                    {"sm_activity", number(s.sm_activity)},
                    {"joules", number(s.joules)},
                    {"gpu_memory_bytes", number(s.gpu_memory)},
                    {"cpu_cores", number(s.cpu)},
                    {"covered", number(s.covered)},
                    {"coarse", s.coarse}});
  return {{"metric", printable(laps.metric)},
          {"count", laps.count},
          {"of_run", laps.of_run},
          {"rows", std::move(rows)}};
}

Json averages_json(const RunReport& report) {
  Json out = Json::object();
  for (const AverageRow& row : report.averages)
    out[printable(row.metric)] = {{"mean", number(row.over.mean)}, {"low", number(row.over.low)},
                                  {"high", number(row.over.high)}, {"seconds", number(row.over.seconds)},
                                  {"points", row.over.points},     {"total", number(row.total)},
                                  {"unit", printable(row.unit)},   {"source", printable(row.source)}};
  return out;
}

Json to_json(const diagnose::Together& together) {
  Json with = Json::array();
  for (const std::string& id : together.with) with.push_back(printable(id));
  const auto& pace = together.measured;
  return {{"sharing", printable(together.sharing)},
          {"with", std::move(with)},
          {"alone_steps_per_second", number(together.alone_steps_per_second)},
          {"predicted",
           {{"speed", number(together.predicted)},
            {"low", number(together.low)},
            {"high", number(together.high)}}},
          {"measured",
           {{"speed", number(together.speed())},
            {"steps_per_second", number(pace ? std::optional(pace->per_second()) : std::nullopt)},
            {"seconds", number(pace ? std::optional(pace->span.seconds()) : std::nullopt)}}}};
}

Json to_json(const learn::RunTarget& target) {
  Json out = {{"metric", printable(target.target.metric)},
              {"direction", target.target.direction == learn::Direction::at_least ? "at least" : "at most"},
              {"value", target.target.value},
              {"seconds", number(target.seen.time)},
              {"reached", target.seen.reached},
              {"expected", Json()}};
  if (target.expected)
    out["expected"] = {{"seconds", number(target.expected->value)},
                       {"low_seconds", number(target.expected->low)},
                       {"high_seconds", number(target.expected->high)},
                       {"confidence", learn::kForecastConfidence}};
  return out;
}

Json to_json(const RunReport& report) {
  const Recording& r = report.recording;
  Json out = {{"id", printable(r.run.id)},
              {"name", printable(r.run.name)},
              {"experiment", printable(r.run.experiment)},
              {"outcome", outcome_of(r)},
              {"ended", r.ended},
              {"seconds", number(r.seconds)},
              {"from_seconds", number(report.span.from)},
              {"to_seconds", number(report.span.to)}};
  const std::optional<std::string> reason = r.tag("plimsoll.reason");
  out["reason"] = reason ? Json(printable(*reason)) : Json();
  out["verdict"] = to_json(report.verdict);
  out["wasted"] = to_json(report.verdict.waste);
  out["gpus"] = Json::array();
  for (const GpuFigures& gpu : report.figures.gpus) out["gpus"].push_back(to_json(gpu));
  out["averages"] = averages_json(report);
  out["epochs"] = to_json(report.epochs);
  out["steps"] = to_json(report.steps);
  out["beside"] = report.together ? to_json(*report.together) : Json();
  out["target"] = report.target ? to_json(*report.target) : Json();
  out["advice"] = advice_json(report.improvements);
  out["metrics_left_out"] = r.metrics_left_out;
  return out;
}

}  // namespace

Json to_json(std::span<const RunReport> reports) {
  Json out = {{"runs", Json::array()}, {"thresholds", Json::array()}};
  for (const RunReport& report : reports) out["runs"].push_back(to_json(report));
  for (const Threshold& t : thresholds())
    out["thresholds"].push_back({{"name", t.name}, {"value", t.value}, {"reason", t.reason}});
  return out;
}

}  // namespace plimsoll::report
