#include "report/plan_services_report.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "report/paragraph.hpp"

namespace plimsoll::report {
namespace {

using Json = nlohmann::ordered_json;

std::string rate_text(double rate) {
  return fmt::format("{:.5g}/s", rate);
}

std::string_view compute_word(const hardware::MigTable& table) {
  return table.compute_parts == 7 ? "sevenths" : "quarters";
}

/// What became of one service.
struct Served {
  double rate = 0;
  int compute = 0;
  int instances = 0;
  Seconds latency;  ///< of the slowest batch
};

std::vector<Served> served(const ServicesReport& report, const PlannedScenario& planned) {
  std::vector<Served> out(planned.scenario.services.size());
  for (const plan::ServedGpu& gpu : planned.plan.gpus)
    for (const plan::PlacedSegment& segment : gpu) {
      Served& service = out[segment.service];
      service.rate += segment.rate;
      service.compute += report.table.profiles[segment.placement.profile].compute;
      ++service.instances;
      service.latency = std::max(service.latency, segment.latency);
    }
  return out;
}

Table instances_table(const ServicesReport& report, const PlannedScenario& planned) {
  using enum Importance;
  Table table{{{"GPU", Align::right, false, always},
               {"Start", Align::right, false, telling},
               {"Profile", Align::left, false, always},
               {"Service", Align::left, true, always},
               {"Batch", Align::right, false, telling},
               {"Processes", Align::right, false, ordinary},
               {"Rate", Align::right, false, telling},
               {"Latency", Align::right, false, telling}},
              {}};
  for (std::size_t i = 0; i < planned.plan.gpus.size(); ++i)
    for (const plan::PlacedSegment& segment : planned.plan.gpus[i])
      table.rows.push_back({fmt::format("{}", i), fmt::format("{}", segment.placement.start),
                            report.table.profiles[segment.placement.profile].name,
                            printable(planned.scenario.services[segment.service].name),
                            fmt::format("{}", segment.batch), fmt::format("{}", segment.processes),
                            rate_text(segment.rate), text(segment.latency)});
  return table;
}

Table services_table(const ServicesReport& report, const PlannedScenario& planned) {
  using enum Importance;
  Table table{{{"Service", Align::left, true, always},
               {"Asked", Align::right, false, always},
               {"Carried", Align::right, false, always},
               {"Limit", Align::right, false, telling},
               {"Batch within", Align::right, false, ordinary},
               {"Takes", Align::right, false, telling},
               {"Instances", Align::right, false, ordinary},
               {"Compute", Align::right, false, telling}},
              {}};
  const std::vector<Served> all = served(report, planned);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const plan::Service& service = planned.scenario.services[i];
    table.rows.push_back({printable(service.name), rate_text(service.rate), rate_text(all[i].rate),
                          text(service.limit), text(service.limit * report.share_of_limit),
                          text(all[i].latency), fmt::format("{}", all[i].instances),
                          fmt::format("{}/{}", all[i].compute, report.table.compute_parts)});
  }
  return table;
}

std::string bound_words(const ServicesReport& report, const plan::ServicePlan& plan) {
  const std::string least = fmt::format(
      "the rates take {} {} of the compute and {} parts of the memory at least ({} a GPU): {} GPU{}",
      plan.least_compute, compute_word(report.table), plan.least_memory, report.table.memory_parts,
      plan.bound, plan.bound == 1 ? "" : "s");
  if (plan.gpus.size() == plan.bound) return least + ". Proven: fewer cannot do.";
  if (plan.exhausted) return least + ". Proven: every way with one GPU less was tried.";
  return least + ". Not proven: a plan between the two may exist.";
}

std::string gpus_words(std::size_t count, const std::string& device) {
  return fmt::format("{} × {}", count, printable(device));
}

/// By a search one that holds more may be found on fewer.
std::string more_words(std::size_t before, std::size_t after) {
  if (after <= before) return "no GPU more";
  return fmt::format("{} GPU{} more", after - before, after - before == 1 ? "" : "s");
}

/// What one more would need, beside what there is.
std::string one_more_words(const ServicesReport& report, const PlannedScenario& planned) {
  const plan::Service& service = planned.one_more->service;
  const plan::ServicePlan& with = planned.one_more->plan;
  const std::size_t before = planned.plan.gpus.size(), after = with.gpus.size();
  int compute = 0;
  std::size_t instances = 0;
  const std::size_t last = planned.scenario.services.size();
  for (const plan::ServedGpu& gpu : with.gpus)
    for (const plan::PlacedSegment& segment : gpu)
      if (segment.service == last) {
        compute += report.table.profiles[segment.placement.profile].compute;
        ++instances;
      }
  return fmt::format("{} at {} within {}: {}, {}; {}/{} of the compute in {} instance{}.{}",
                     printable(service.name), rate_text(service.rate), text(service.limit),
                     more_words(before, after), gpus_words(after, report.device.name), compute,
                     report.table.compute_parts, instances, instances == 1 ? "" : "s",
                     with.proven() ? " Proven: fewer cannot do." : "");
}

std::string predicted_words(const PredictedRates& predicted) {
  return fmt::format(
      "rates and latencies are told from kernels, not measured: what an instance carries is within {:.0f} to "
      "{:.0f} % of it, 95 of 100 times",
      100 * predicted.low, 100 * predicted.high);
}

std::string one_text(const ServicesReport& report, const PlannedScenario& planned, const TextStyle& style) {
  std::string out =
      bold(fmt::format("{}{} service{} on {}",
                       planned.scenario.name.empty()
                           ? ""
                           : fmt::format("Scenario {}: ", printable(planned.scenario.name, 40)),
                       planned.scenario.services.size(), planned.scenario.services.size() == 1 ? "" : "s",
                       gpus_words(planned.plan.gpus.size(), report.device.name)),
           style) +
      "\n\n";
  out += to_text(services_table(report, planned), style) + "\n";
  out += to_text(instances_table(report, planned), style) + "\n";
  std::vector<std::pair<std::string_view, std::string>> notes = {
      {"bound", bound_words(report, planned.plan)}};
  if (planned.one_more) notes.emplace_back("one more", one_more_words(report, planned));
  if (report.predicted) notes.emplace_back("predicted", predicted_words(*report.predicted));
  std::size_t widest = 0;
  for (const auto& [label, words] : notes) widest = std::max(widest, label.size());
  for (const auto& [label, words] : notes)
    out += hanging(fmt::format("{:<{}}  ", label, widest), words, style);
  return out;
}

Json scenario_json(const ServicesReport& report, const PlannedScenario& planned) {
  Json out;
  out["scenario"] = planned.scenario.name.empty() ? Json(nullptr) : Json(planned.scenario.name);
  out["gpu_count"] = planned.plan.gpus.size();
  out["bound"] = {{"gpu_count", planned.plan.bound},
                  {"compute_parts", planned.plan.least_compute},
                  {"memory_parts", planned.plan.least_memory}};
  out["proven"] = planned.plan.proven();
  out["services"] = Json::array();
  const std::vector<Served> all = served(report, planned);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const plan::Service& service = planned.scenario.services[i];
    out["services"].push_back({{"name", service.name},
                               {"model", service.model},
                               {"requests_per_second", service.rate},
                               {"limit_seconds", service.limit.value()},
                               {"carried_requests_per_second", all[i].rate},
                               {"batch_seconds", all[i].latency.value()},
                               {"instances", all[i].instances},
                               {"compute_parts", all[i].compute}});
  }
  out["gpus"] = Json::array();
  for (const plan::ServedGpu& gpu : planned.plan.gpus) {
    Json instances = Json::array();
    for (const plan::PlacedSegment& segment : gpu)
      instances.push_back({{"start", segment.placement.start},
                           {"profile", report.table.profiles[segment.placement.profile].name},
                           {"service", planned.scenario.services[segment.service].name},
                           {"batch", segment.batch},
                           {"processes", segment.processes},
                           {"requests_per_second", segment.rate},
                           {"batch_seconds", segment.latency.value()}});
    out["gpus"].push_back(std::move(instances));
  }
  if (planned.one_more) {
    const plan::Service& more = planned.one_more->service;
    const plan::ServicePlan& with = planned.one_more->plan;
    out["one_more"] = {{"model", more.model},
                       {"requests_per_second", more.rate},
                       {"limit_seconds", more.limit.value()},
                       {"gpu_count", with.gpus.size()},
                       {"more_gpus", static_cast<std::int64_t>(with.gpus.size()) -
                                         static_cast<std::int64_t>(planned.plan.gpus.size())},
                       {"bound_gpu_count", with.bound},
                       {"proven", with.proven()}};
  }
  return out;
}

}  // namespace

std::string services_text(const ServicesReport& report, const TextStyle& style) {
  if (report.scenarios.size() == 1) return one_text(report, report.scenarios.front(), style);
  using enum Importance;
  Table table{{{"Scenario", Align::left, true, always},
               {"Services", Align::right, false, telling},
               {"GPUs", Align::right, false, always},
               {"At least", Align::right, false, always},
               {"Compute", Align::right, false, telling},
               {"Memory", Align::right, false, telling},
               {"Proven", Align::left, false, always}},
              {}};
  const bool more = report.scenarios.front().one_more.has_value();
  if (more) table.columns.push_back({"With one more", Align::right, false, always});
  for (const PlannedScenario& planned : report.scenarios) {
    table.rows.push_back({printable(planned.scenario.name, 40),
                          fmt::format("{}", planned.scenario.services.size()),
                          fmt::format("{}", planned.plan.gpus.size()), fmt::format("{}", planned.plan.bound),
                          fmt::format("{}/{}", planned.plan.least_compute, report.table.compute_parts),
                          fmt::format("{}/{}", planned.plan.least_memory, report.table.memory_parts),
                          planned.plan.proven() ? "yes" : "no"});
    if (more) table.rows.back().push_back(fmt::format("{}", planned.one_more->plan.gpus.size()));
  }
  return bold(fmt::format("{} scenarios on {}", report.scenarios.size(), printable(report.device.name)),
              style) +
         "\n\n" + to_text(table, style) + "\n" +
         paragraph("Compute and memory: the fewest parts that carry the rates. --scenario shows one plan.",
                   style);
}

Json services_json(const ServicesReport& report) {
  Json out;
  out["device"] = report.device.id;
  out["share_of_limit"] = report.share_of_limit;
  out["predicted"] = report.predicted ? Json{{"low", report.predicted->low}, {"high", report.predicted->high}}
                                      : Json(nullptr);
  out["scenarios"] = Json::array();
  for (const PlannedScenario& planned : report.scenarios)
    out["scenarios"].push_back(scenario_json(report, planned));
  return out;
}

}  // namespace plimsoll::report
