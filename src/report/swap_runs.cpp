#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "report/json_values.hpp"
#include "report/paragraph.hpp"
#include "report/swap_report.hpp"

namespace plimsoll::report {
namespace {

using Json = nlohmann::ordered_json;
using enum Importance;

std::optional<double> ratio(double run, double simulated) {
  return simulated > 0 ? std::optional(run / simulated) : std::nullopt;
}
std::optional<double> met_ratio(const SwapRun& run) {
  return ratio(static_cast<double>(run.of.all.met), static_cast<double>(run.simulated.all.met));
}
std::optional<double> moved_ratio(const SwapRun& run) {
  return ratio(static_cast<double>(run.of.moved.count()), static_cast<double>(run.simulated.moved.count()));
}

Json known_json(const std::optional<double>& number) {
  return number ? Json(*number) : Json(nullptr);
}
Json time_json(const std::optional<Seconds>& seconds) {
  return seconds ? Json(seconds->value()) : Json(nullptr);
}

std::string ratio_cell(const std::optional<double>& of) {
  return of ? fmt::format("{:.3f}", *of) : "–";
}
std::string time_cell(const std::optional<Seconds>& seconds) {
  return seconds ? text(*seconds) : "–";
}

}  // namespace

std::string swap_runs_text(const SwapReport& report, const TextStyle& style) {
  if (report.runs.empty()) return "";
  Table table{{{"Policy", Align::left, false, always},
               {"Weights", Align::left, false, telling},
               {"Frames met", Align::right, false, always},
               {"Simulated", Align::right, false, telling},
               {"Ratio", Align::right},
               {"Moved", Align::right, false, always},
               {"Simulated", Align::right, false, telling},
               {"Ratio", Align::right},
               {"p50", Align::right, false, telling},
               {"p99", Align::right, false, telling},
               {"Copies at", Align::right},
               {"Most held", Align::right, false, telling},
               {"Activations", Align::right}},
              {}};
  for (const SwapRun& run : report.runs) {
    const bool timed = !report.in_sequence;
    table.rows.push_back({run.policy,
                          !report.together ? ""
                          : run.merged     ? "merged"
                                           : "their own",
                          timed ? fmt::format("{}", run.of.all.met) : "–",
                          timed ? fmt::format("{}", run.simulated.all.met) : "–",
                          timed ? ratio_cell(met_ratio(run)) : "–", text(run.of.moved),
                          text(run.simulated.moved), ratio_cell(moved_ratio(run)), time_cell(run.of.median),
                          time_cell(run.of.late), run.copying.value() > 0 ? text(run.copying) : "–",
                          text(run.peak), text(run.activations)});
  }
  std::string out =
      fmt::format("\n{}\n{}\n", bold(fmt::format("For real, on {}", printable(report.ran_on)), style),
                  to_text(table, style));
  for (const std::string& finding : swap_run_findings(report)) out += paragraph(finding, style);
  return out;
}

std::vector<std::string> swap_run_findings(const SwapReport& report) {
  std::vector<std::string> out;
  if (report.runs.empty()) return out;
  out.emplace_back(
      report.in_sequence
          ? "Frames came one after the other, each as soon as the one before it was served: times are "
            "of serving, and none is late."
          : "Simulated: the same frames with times of layers and copies as the engine measured them "
            "before the first frame.");
  std::int64_t differing = 0;
  Bytes activations;
  for (const SwapRun& run : report.runs) {
    differing += run.outputs_differing;
    activations = std::max(activations, run.activations);
  }
  out.push_back(
      differing == 0
          ? "Every run gave, bit for bit, what its model gives with all its weights there."
          : fmt::format("{} runs gave something else than their models give with all their weights there.",
                        differing));
  if (activations > report.activations)
    out.push_back(fmt::format(
        "Activations took {}, where {} are set aside for them: --memory is kept by weights alone.",
        text(activations), text(report.activations)));
  return out;
}

nlohmann::ordered_json swap_runs_json(const SwapReport& report) {
  Json runs = Json::array();
  for (const SwapRun& run : report.runs) {
    const bool timed = !report.in_sequence;
    runs.push_back(
        {{"policy", run.policy},
         {"weights", run.merged ? "merged" : "separate"},
         {"frames", run.of.all.frames},
         {"frames_run", run.of.all.ran},
         {"frames_met", timed ? Json(run.of.all.met) : Json(nullptr)},
         {"moved_bytes", run.of.moved.count()},
         {"decided_bytes", run.decided.count()},
         {"peak_bytes", run.peak.count()},
         {"decided_peak_bytes", run.decided_peak.count()},
         {"activation_bytes", run.activations.count()},
         {"p50_seconds", time_json(run.of.median)},
         {"p99_seconds", time_json(run.of.late)},
         {"copies", run.copies},
         {"copy_bytes_per_second", run.copying.value()},
         {"link_busy", run.of.copying},
         {"elapsed_seconds", run.elapsed.value()},
         {"accuracy_lost", timed ? known_json(run.of.accuracy_lost) : Json(nullptr)},
         {"outputs_differing", run.outputs_differing},
         {"link",
          {{"bytes_per_second", run.link.bandwidth.value()}, {"latency_seconds", run.link.latency.value()}}},
         {"simulated",
          {{"frames_met", timed ? Json(run.simulated.all.met) : Json(nullptr)},
           {"moved_bytes", run.simulated.moved.count()},
           {"p50_seconds", timed ? time_json(run.simulated.median) : Json(nullptr)},
           {"p99_seconds", timed ? time_json(run.simulated.late) : Json(nullptr)}}},
         {"ratio",
          {{"frames_met", timed ? known_json(met_ratio(run)) : Json(nullptr)},
           {"moved_bytes", known_json(moved_ratio(run))}}}});
  }
  return {
      {"device", printable(report.ran_on)}, {"by_clock", !report.in_sequence}, {"policies", std::move(runs)}};
}

}  // namespace plimsoll::report
