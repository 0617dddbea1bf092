#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "report/json_values.hpp"
#include "report/swap_report.hpp"

namespace plimsoll::report {
namespace {

using Json = nlohmann::ordered_json;

Json seconds_if_any(const std::optional<Seconds>& seconds) {
  return seconds ? Json(seconds->value()) : Json(nullptr);
}

Json number_if_any(const std::optional<double>& number) {
  return number ? Json(*number) : Json(nullptr);
}

Json order_json(const SwapReport& report, const swapping::Round& round) {
  Json names = Json::array();
  for (const std::size_t model : round.order) names.push_back(printable(report.models[model].name));
  return {{"models", std::move(names)},
          {"added_bytes", (report.block * round.blocks).count()},
          {"exact", round.exact}};
}

Json row_json(const SwapReport& report, const SwapReport::Row& row) {
  Json out{{"policy", row.policy},
           {"told_ahead", row.told_ahead},
           {"weights", row.merged ? "merged" : "separate"},
           {"possible", !row.needs},
           {"needs_bytes", json_bytes(row.needs)}};
  if (row.needs || !report.estimated) return out;
  out["frames"] = row.of.all.frames;
  out["frames_met"] = row.of.all.met;
  out["frames_run"] = row.of.all.ran;
  out["missed_for_copies"] = row.missed.copies;
  out["missed_for_computing"] = row.missed.computing;
  out["moved_bytes"] = row.of.moved.count();
  out["p50_seconds"] = seconds_if_any(row.of.median);
  out["p99_seconds"] = seconds_if_any(row.of.late);
  out["link_busy"] = row.of.copying;
  out["computing"] = row.of.computing;
  out["waited_seconds"] = row.of.waited.value();
  out["accuracy"] = number_if_any(row.of.accuracy);
  out["accuracy_lost"] = number_if_any(row.of.accuracy_lost);
  Json models = Json::array();
  for (std::size_t i = 0; i < report.models.size(); ++i) {
    const swapping::FramesMet& of = row.of.models[i];
    models.push_back({{"name", printable(report.models[i].name)},
                      {"frames", of.frames},
                      {"frames_met", of.met},
                      {"frames_run", of.ran},
                      {"moved_bytes", (report.block * of.blocks).count()}});
  }
  out["models"] = std::move(models);
  return out;
}

Json run_json(const SwapReport::RoundRun& run) {
  Json gone = Json::array();
  for (const SwapReport::RoundRun::Gone& of : run.gone)
    gone.push_back({{"model", printable(of.model)}, {"bytes", of.bytes.count()}});
  return {{"model", printable(run.model)},
          {"arrival_seconds", run.arrival.value()},
          {"copies_begin_seconds", run.copies ? Json(run.copies->begin.value()) : Json(nullptr)},
          {"copies_end_seconds", run.copies ? Json(run.copies->end.value()) : Json(nullptr)},
          {"moved_bytes", run.moved.count()},
          {"begin_seconds", run.begin.value()},
          {"end_seconds", run.finish.value()},
          {"gives_way", std::move(gone)}};
}

Json link_json(const SwapReport& report) {
  if (!report.estimated) return nullptr;
  return {{"bytes_per_second", report.link.bandwidth.value()},
          {"latency_seconds", report.link.latency.value()},
          {"provenance", name(report.link.provenance)},
          {"source", report.link.source}};
}

Json models_json(const SwapReport& report) {
  Json out = Json::array();
  for (const SwapReport::ModelRow& model : report.models)
    out.push_back({{"name", printable(model.name)},
                   {"weight_bytes", model.weights.count()},
                   {"shared_bytes", model.shared.count()},
                   {"layers", model.layers},
                   {"seconds", report.estimated ? Json(model.seconds.value()) : Json(nullptr)},
                   {"frames_per_second", model.rate > 0 ? Json(model.rate) : Json(nullptr)},
                   {"limit_seconds", model.limit.value()}});
  return out;
}

}  // namespace

nlohmann::ordered_json swap_json(const SwapReport& report) {
  Json rows = Json::array(), round = Json::array();
  for (const SwapReport::Row& row : report.rows) rows.push_back(row_json(report, row));
  for (const SwapReport::RoundRun& run : report.round) round.push_back(run_json(run));
  Json out{{"simulated", report.estimated},
           {"device", printable(report.device)},
           {"memory_bytes", report.memory.count()},
           {"weights_memory_bytes", report.for_weights.count()},
           {"activation_bytes", report.activations.count()},
           {"block_bytes", report.block.count()},
           {"link", link_json(report)},
           {"frames", report.frames},
           {"pattern", printable(report.pattern)},
           {"seed", report.seed ? Json(*report.seed) : Json(nullptr)},
           {"late", report.drops_late ? "drop" : "run"},
           {"weight_bytes", report.separate.count()},
           {"merged_weight_bytes", json_bytes(report.together)},
           {"models", models_json(report)},
           {"order", order_json(report, report.order)},
           {"given_order", order_json(report, report.given)},
           {"policies", std::move(rows)},
           {"best", report.best ? Json(*report.best) : Json(nullptr)},
           {"findings", swap_findings(report)},
           {"round", std::move(round)}};
  if (!report.runs.empty()) out["run"] = swap_runs_json(report);
  return out;
}

}  // namespace plimsoll::report
