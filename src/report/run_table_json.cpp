#include <cmath>

#include <nlohmann/json.hpp>

#include "report/run_table.hpp"
#include "store/timestamp.hpp"

namespace plimsoll::report {

using Json = nlohmann::ordered_json;

Json number_json(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

Json run_json(const store::Run& run) {
  const std::optional<Seconds> duration = run_duration(run);
  const std::optional<Joules> energy = run_energy(run);
  Json metrics = Json::object();
  for (const auto& [name, metric] : run.metrics)
    metrics[name] = {{"value", number_json(metric.latest.value)},    {"unit", metric.description.unit},
                     {"source", metric.description.source},          {"step", metric.latest.step},
                     {"time", store::time_text(metric.latest.time)}, {"points", metric.points}};
  return {{"id", run.id},
          {"name", run.name},
          {"experiment", run.experiment},
          {"status", store::name(run.status)},
          {"outcome", run_outcome(run)},
          {"start", store::time_text(run.start)},
          {"end", run.end ? Json(store::time_text(*run.end)) : Json(nullptr)},
          {"seconds", duration ? Json(duration->value()) : Json(nullptr)},
          {"joules", energy ? Json(energy->value()) : Json(nullptr)},
          {"deleted", run.deleted},
          {"params", Json(run.params)},
          {"tags", Json(run.tags)},
          {"metrics", std::move(metrics)}};
}

}  // namespace plimsoll::report
