#include "report/cluster_report.hpp"

#include <cmath>

#include <nlohmann/json.hpp>

#include "report/paragraph.hpp"

namespace plimsoll::report {
namespace {

std::string percent_cell(double share) {
  return fmt::format("{:.2f} %", 100 * share);
}

}  // namespace

std::string cluster_text(const ClusterReport& report, const TextStyle& style) {
  Table table{.columns = {{.title = "Policy", .importance = Importance::always},
                          {.title = "Allocated", .align = Align::right, .importance = Importance::always},
                          {.title = "± over seeds", .align = Align::right, .importance = Importance::telling},
                          {.title = "Refused", .align = Align::right},
                          {.title = "Of pods", .align = Align::right, .importance = Importance::detail},
                          {.title = "Fragments", .align = Align::right, .importance = Importance::telling}},
              .rows = {}};
  for (const auto& [policy, of] : report.rows)
    table.rows.push_back({policy, percent_cell(of.allocated), percent_cell(of.deviation),
                          fmt::format("{:.1f}", of.refused), fmt::format("{:.1f}", of.arrived),
                          percent_cell(of.fragmentation)});
  return fmt::format(
      "{} pods of {} kinds on {} nodes with {} GPUs; {} order{} of arrival\n\n{}\n{}", report.pods,
      report.kinds, report.nodes, report.gpus, report.seeds, report.seeds == 1 ? "" : "s",
      to_text(table, style),
      paragraph("Allocated: the share of all GPUs in use where the requests that arrived reach all GPUs; the "
                "mean over orders. Refused: pods, up to there, that fit nowhere. Fragments: the share of all "
                "GPUs that is free and of no use to pods as they arrive.",
                style));
}

nlohmann::ordered_json cluster_json(const ClusterReport& report) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const auto& [policy, of] : report.rows) {
    nlohmann::ordered_json curve = nlohmann::ordered_json::array();
    for (const plan::cluster::CurvePoint& point : of.curve)
      curve.push_back({{"arrived", point.arrived}, {"allocated", point.allocated}});
    rows.push_back({{"policy", policy},
                    {"allocated", of.allocated},
                    {"standard_deviation", of.deviation},
                    {"least", of.least},
                    {"most", of.most},
                    {"arrived_pods", of.arrived},
                    {"refused_pods", of.refused},
                    {"fragmentation", of.fragmentation},
                    {"curve", std::move(curve)}});
  }
  return {{"nodes", report.nodes},
          {"gpus", report.gpus},
          {"pods", report.pods},
          {"kinds", report.kinds},
          {"first_seed", report.first_seed},
          {"seeds", report.seeds},
          {"fill", report.fill},
          {"policies", std::move(rows)}};
}

}  // namespace plimsoll::report
