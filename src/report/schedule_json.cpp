#include <cmath>

#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "report/json_values.hpp"
#include "report/schedule_lanes.hpp"
#include "report/schedule_words.hpp"

namespace plimsoll::report {
namespace {

using plan::schedule::Job;
using plan::schedule::Kind;
using plan::schedule::Outcome;
using plan::schedule::Place;
using plan::schedule::Plan;
using plan::schedule::Ran;

using Json = nlohmann::ordered_json;

constexpr double kNormal95 = 1.96;

Json json_or_null(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json scheduled_names(const Plan& plan, const std::vector<std::size_t>& jobs) {
  Json out = Json::array();
  for (const std::size_t job : jobs) out.push_back(scheduled_name(plan, job));
  return out;
}

Json places_json(const Plan& plan) {
  Json out = Json::array();
  for (const Place& place : plan.instance.places) {
    const plan::schedule::Setup& setup = plan.instance.setups[place.setup];
    Json row{{"name", place_name(place)}, {"gpu", place.device}, {"sharing", share::name(setup.way)}};
    if (setup.cap < 1) row["mps_share_of_sms"] = setup.cap;
    if (!setup.profile.empty()) row["mig_profile"] = printable(setup.profile);
    if (setup.clients) row["mps_in_slice"] = true;
    row["memory_bytes"] = place.memory.count();
    row["price_per_hour"] = place.price > 0 ? Json(place.price) : Json(nullptr);
    out.push_back(std::move(row));
  }
  return out;
}

Json jobs_json(const ScheduleReport& report) {
  const Plan& plan = *report.plan;
  const auto besides = besides_of(plan);
  Json out = Json::array();
  for (std::size_t i = 0; i < plan.instance.jobs.size(); ++i) {
    const Job& job = plan.instance.jobs[i];
    const Kind& kind = plan.instance.kinds[job.kind];
    const Ran& ran = plan.outcome.jobs[i];
    const bool started = !ran.places.empty();
    const std::optional<double> speed = mean_speed(plan, i);
    const auto at_error = [&](double deviations) {
      return speed && ran.log_error ? std::optional(*speed * std::exp(deviations * *ran.log_error))
                                    : std::nullopt;
    };
    Json places = Json::array();
    for (const std::size_t place : ran.places) places.push_back(place_name(plan.instance.places[place]));
    Json row{{"name", scheduled_name(plan, i)},
             {"kind", printable(kind.name)},
             {"serves", kind.serves},
             {"places", std::move(places)},
             {"start_seconds", started ? Json(ran.start) : Json(nullptr)},
             {"first_step_seconds", started ? Json(ran.computes_from()) : Json(nullptr)},
             {"end_seconds", started ? Json(ran.end) : Json(nullptr)},
             {"startup_seconds", job.startup},
             {"settling_seconds", job.settling},
             {"alone_seconds", kind.serves ? Json(nullptr) : Json(job.seconds)},
             {"mean_speed", json_or_null(speed)},
             {"low_speed", json_or_null(at_error(-kNormal95))},
             {"high_speed", json_or_null(at_error(kNormal95))},
             {"beside", scheduled_names(plan, besides[i])},
             {"arrival_seconds", job.arrival},
             {"deadline_seconds", json_or_null(job.deadline)},
             {"late", started && job.deadline && ran.end > *job.deadline},
             {"priority", job.priority},
             {"gpus", job.gpus},
             {"after", scheduled_names(plan, job.after)},
             {"apart", scheduled_names(plan, job.apart)},
             {"user", printable(job.user)},
             {"memory_bytes", json_bytes(kind.memory)},
             {"sm_activity", kind.activity},
             {"out_of_memory", ran.failures}};
    if (kind.batch > 0) row["batch"] = kind.batch;
    if (i < report.why.size()) row["why"] = printable(report.why[i]);
    out.push_back(std::move(row));
  }
  return out;
}

/// What all comes to, of the plan and of other ways alike.
void add_outcome(Json& out, const ScheduleReport& report, const Outcome& outcome) {
  out["makespan_seconds"] = outcome.makespan;
  out["mean_completion_seconds"] = outcome.mean_completion;
  out["mean_waiting_seconds"] = outcome.mean_waiting;
  out["joules"] = outcome.joules;
  out["money"] = json_or_null(money_of(*report.plan, outcome));
  out["sm_activity"] = outcome.active;
  out["late"] = outcome.late;
  out["out_of_memory"] = outcome.out_of_memory;
  out["unplaced"] = scheduled_names(*report.plan, outcome.unplaced);
}

}  // namespace

Json schedule_json(const ScheduleReport& report) {
  const Plan& plan = *report.plan;
  Json out{{"device", printable(report.device)}, {"aim", printable(report.aim)}};
  out["layouts"] = Json::array();
  for (const std::string& layout : plan.layouts) out["layouts"].push_back(printable(layout));
  out["places"] = places_json(plan);
  out["jobs"] = jobs_json(report);
  add_outcome(out, report, plan.outcome);
  out["currency"] = printable(report.currency);
  const double bound = plan.bound.seconds();
  out["lower_bound"] = {{"seconds", bound},
                        {"work_seconds", plan.bound.work},
                        {"longest_seconds", plan.bound.longest},
                        {"share_seconds", plan.bound.share},
                        {"memory_seconds", plan.bound.memory}};
  out["gap"] = bound > 0 ? Json(plan.outcome.makespan / bound - 1) : Json(nullptr);
  out["optimal"] = plan.optimal;
  out["alternatives"] = Json::array();
  for (const plan::schedule::Alternative& other : plan.alternatives) {
    Json row{{"layout", printable(other.name)}};
    add_outcome(row, report, other.outcome);
    row["ratio"] = json_or_null(ratio_of(report, other.outcome));
    out["alternatives"].push_back(std::move(row));
  }
  return out;
}

}  // namespace plimsoll::report
