#include "report/policy_report.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "report/paragraph.hpp"

namespace plimsoll::report {

std::string policy_text(const PolicyReport& report, const TextStyle& style) {
  using enum Importance;
  Table table{{{"Policy", Align::left, false, always},
               {"Makespan", Align::right, false, always},
               {"Waiting", Align::right, false, telling},
               {"Completion", Align::right, false, telling},
               {"Active", Align::right},
               {"Energy", Align::right, false, telling},
               {"Out of memory", Align::right},
               {"What it does", Align::left, false, detail, true}},
              {}};
  for (const PolicyReport::Row& row : report.rows)
    table.rows.push_back({row.name,
                          row.outcome.unplaced.empty()
                              ? text(Seconds(row.outcome.makespan))
                              : fmt::format("{} never start", row.outcome.unplaced.size()),
                          text(Seconds(row.outcome.mean_waiting)), text(Seconds(row.outcome.mean_completion)),
                          fmt::format("{:.0f} %", 100 * row.outcome.active), text(Joules(row.outcome.joules)),
                          fmt::format("{}", row.outcome.out_of_memory), row.words});
  std::string out = fmt::format("{}\n\n", bold(fmt::format("{} jobs on {} of {}", report.jobs.size(),
                                                           report.gpus, printable(report.device)),
                                               style));
  out += to_text(table, style);
  return out +
         paragraph(fmt::format("No order and no sharing can end before {}.", text(Seconds(report.bound))),
                   style);
}

nlohmann::ordered_json policy_json(const PolicyReport& report) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const PolicyReport::Row& row : report.rows) {
    const plan::schedule::Outcome& outcome = row.outcome;
    nlohmann::ordered_json jobs = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < std::min(outcome.jobs.size(), report.jobs.size()); ++i) {
      const plan::schedule::Ran& ran = outcome.jobs[i];
      const bool started = !ran.places.empty();
      const auto moment = [&](double at) {
        return started ? nlohmann::ordered_json(at) : nlohmann::ordered_json();
      };
      jobs.push_back({{"name", printable(report.jobs[i])},
                      {"start_seconds", moment(ran.start)},
                      {"first_step_seconds", moment(ran.computes_from())},
                      {"end_seconds", moment(ran.end)}});
    }
    rows.push_back({{"policy", row.name},
                    {"makespan_seconds", outcome.makespan},
                    {"mean_waiting_seconds", outcome.mean_waiting},
                    {"mean_completion_seconds", outcome.mean_completion},
                    {"active", outcome.active},
                    {"joules", outcome.joules},
                    {"out_of_memory", outcome.out_of_memory},
                    {"late", outcome.late},
                    {"never_started", outcome.unplaced.size()},
                    {"jobs", std::move(jobs)}});
  }
  return {{"device", printable(report.device)},
          {"gpus", report.gpus},
          {"jobs", report.jobs.size()},
          {"lower_bound_seconds", report.bound},
          {"policies", std::move(rows)}};
}

}  // namespace plimsoll::report
