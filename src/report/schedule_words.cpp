#include "report/schedule_words.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "report/schedule_lanes.hpp"

namespace plimsoll::report {
namespace {

using plan::schedule::Job;
using plan::schedule::LowerBound;
using plan::schedule::Outcome;
using plan::schedule::Place;
using plan::schedule::Plan;
using plan::schedule::Ran;

constexpr std::size_t kMostBeside = 4;  // names in a cell
constexpr std::size_t kMostLayoutsInTitle = 4;
constexpr double kKilowattHour = 3.6e6;

/// "0 (mps)", "0, 1 (exclusive)".
std::string places_cell(const Plan& plan, const Ran& ran) {
  if (ran.places.empty()) return "nowhere";
  std::string out;
  for (const std::size_t place : ran.places)
    out += (out.empty() ? "" : ", ") + place_name(plan.instance.places[place]);
  return fmt::format("{} ({})", out,
                     setup_words(plan.instance.setups[plan.instance.places[ran.places.front()].setup]));
}

std::string money_text(double amount, std::string_view currency) {
  if (currency == "USD") return text(Money(amount));
  return fmt::format("{:.2f} {}", amount, printable(currency));
}

/// What the plan is for, of an outcome.
struct AimRow {
  std::string_view name;
  double Outcome::* value;
};
constexpr std::array<AimRow, 4> kAims = {{{"makespan", &Outcome::makespan},
                                          {"completion", &Outcome::mean_completion},
                                          {"energy", &Outcome::joules},
                                          {"money", &Outcome::money}}};
const AimRow& aim_row(std::string_view aim) {
  const auto found = std::ranges::find(kAims, aim, &AimRow::name);
  return found == kAims.end() ? kAims.front() : *found;
}

/// Which of the bounds is the largest, in words.
std::string bound_words(const LowerBound& bound) {
  const std::array<std::pair<double, std::string_view>, 4> parts = {{
      {bound.longest, "one job, with those it waits for, takes that long"},
      {bound.work, "that is all the work over what the GPUs do at best"},
      {bound.share, "jobs keep that much of the GPUs busy"},
      {bound.memory, "jobs hold that much memory for that long"},
  }};
  return std::string(
      std::ranges::max_element(parts, {}, [](const auto& part) { return part.first; })->second);
}

std::string bound_text(const Plan& plan) {
  const double seconds = plan.bound.seconds();
  const std::string proven = plan.optimal ? "; the plan is proven best for these layouts" : "";
  if (!(seconds > 0)) return "none" + proven;
  const double gap = 100 * (plan.outcome.makespan / seconds - 1);
  return fmt::format("{}, since {}; the plan takes {} more{}", text(Seconds(seconds)),
                     bound_words(plan.bound), gap < 0.05 ? "nothing" : fmt::format("{:.1f} %", gap), proven);
}

std::string missed_words(const Outcome& outcome) {
  std::string out;
  const auto add = [&](std::size_t count, std::string_view what) {
    if (count > 0) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", count, what);
  };
  add(outcome.unplaced.size(), "never start");
  add(static_cast<std::size_t>(std::max(0, outcome.late)), "late");
  add(static_cast<std::size_t>(std::max(0, outcome.out_of_memory)), "out of memory");
  return out;
}

}  // namespace

std::string scheduled_name(const Plan& plan, std::size_t job) {
  const std::string& name = plan.instance.jobs[job].name;
  return name.empty() ? fmt::format("job {}", job + 1) : printable(name);
}

std::string beside_words(const Plan& plan, const std::vector<std::size_t>& besides, std::size_t most) {
  if (besides.empty()) return "nobody";
  std::string out;
  // "and 1 more" takes as much room as the one.
  const std::size_t told = besides.size() <= most + 1 ? besides.size() : most;
  for (std::size_t i = 0; i < told; ++i)
    out += fmt::format("{}{}", i == 0 ? "" : ", ", scheduled_name(plan, besides[i]));
  if (told < besides.size()) out += fmt::format(" and {} more", besides.size() - told);
  return out;
}

std::optional<double> money_of(const Plan& plan, const Outcome& outcome) {
  if (std::ranges::none_of(plan.instance.places, [](const Place& place) { return place.price > 0; }))
    return {};
  return outcome.money;
}

std::optional<double> ratio_of(const ScheduleReport& report, const Outcome& outcome) {
  const auto value = aim_row(report.aim).value;
  if (!outcome.unplaced.empty() || !(report.plan->outcome.*value > 0)) return {};
  return outcome.*value / (report.plan->outcome.*value);
}

Table schedule_jobs_table(const ScheduleReport& report) {
  using enum Importance;
  const Plan& plan = *report.plan;
  const bool deadlines =
      std::ranges::any_of(plan.instance.jobs, [](const Job& job) { return job.deadline.has_value(); });
  const bool start_up =
      std::ranges::any_of(plan.instance.jobs, [](const Job& job) { return job.startup > 0; });
  Table table{{{"#", Align::right, false, always},
               {"Job", Align::left, true, always},
               {"GPU", Align::left, true, telling},
               {"Start", Align::right, false, always}},
              {}};
  if (start_up) table.columns.push_back({"First step", Align::right, false, telling});
  table.columns.push_back({"End", Align::right, false, always});
  table.columns.push_back({"Alone", Align::right, false, ordinary});
  table.columns.push_back({"Speed", Align::right, false, telling});
  if (deadlines) table.columns.push_back({"Deadline", Align::right, false, telling});
  table.columns.push_back({"Beside", Align::left, false, ordinary, true});
  const auto besides = besides_of(plan);
  for (std::size_t i = 0; i < plan.instance.jobs.size(); ++i) {
    const Job& job = plan.instance.jobs[i];
    const Ran& ran = plan.outcome.jobs[i];
    const bool ran_at_all = !ran.places.empty(), serves = plan.instance.kinds[job.kind].serves;
    const std::optional<double> speed = mean_speed(plan, i);
    std::vector<std::string> row = {fmt::format("{}", i + 1), scheduled_name(plan, i), places_cell(plan, ran),
                                    ran_at_all ? text(Seconds(ran.start)) : "never"};
    if (start_up) row.push_back(ran_at_all ? text(Seconds(ran.computes_from())) : "never");
    row.push_back(!ran_at_all ? "never" : (serves ? "serves on" : text(Seconds(ran.end))));
    row.push_back(serves ? "–" : text(Seconds(job.seconds)));
    row.push_back(speed ? fmt::format("{:.2f}", *speed) : "–");
    if (deadlines)
      row.push_back(!job.deadline ? "–"
                                  : text(Seconds(*job.deadline)) +
                                        (ran_at_all && ran.end > *job.deadline ? " (late)" : ""));
    row.push_back(beside_words(plan, besides[i], kMostBeside));
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table schedule_alternatives_table(const ScheduleReport& report) {
  using enum Importance;
  const Plan& plan = *report.plan;
  const bool money = money_of(plan, plan.outcome).has_value();
  const bool misses = std::ranges::any_of(
      plan.alternatives, [](const auto& other) { return !missed_words(other.outcome).empty(); });
  Table table{{{"All GPUs", Align::left, true, always},
               {"Makespan", Align::right, false, always},
               {"Completion", Align::right, false, telling},
               {"Energy", Align::right, false, telling}},
              {}};
  if (money) table.columns.push_back({"Cost", Align::right, false, ordinary});
  table.columns.push_back(
      {fmt::format("Ratio of {}", aim_row(report.aim).name), Align::right, false, always});
  if (misses) table.columns.push_back({"But", Align::left, false, telling});
  const auto add = [&](const std::string& name, const Outcome& outcome, std::string ratio) {
    std::vector<std::string> row = {name, text(Seconds(outcome.makespan)),
                                    text(Seconds(outcome.mean_completion)), text(Joules(outcome.joules))};
    if (money) row.push_back(money_text(outcome.money, report.currency));
    row.push_back(std::move(ratio));
    if (misses) row.push_back(missed_words(outcome));
    table.rows.push_back(std::move(row));
  };
  add("this plan", plan.outcome, "1");
  for (const plan::schedule::Alternative& other : plan.alternatives) {
    const auto ratio = ratio_of(report, other.outcome);
    add(printable(other.name), other.outcome, ratio ? fmt::format("{:.2f}", *ratio) : "–");
  }
  return table;
}

std::vector<std::pair<std::string, std::string>> schedule_totals(const ScheduleReport& report) {
  const Plan& plan = *report.plan;
  const Outcome& outcome = plan.outcome;
  std::vector<std::pair<std::string, std::string>> out = {
      {"Makespan", text(Seconds(outcome.makespan))},
      {"Waiting", text(Seconds(outcome.mean_waiting)) + " in the mean, from arrival to start"},
      {"Completion", text(Seconds(outcome.mean_completion)) + " in the mean, from arrival to end"},
      {"Energy",
       fmt::format("{}, {:.3g} kWh", text(Joules(outcome.joules)), outcome.joules / kKilowattHour)}};
  if (const auto money = money_of(plan, outcome))
    out.emplace_back("Cost", money_text(*money, report.currency));
  out.emplace_back("SM activity", fmt::format("{:.0f} % in the mean", 100 * outcome.active));
  out.emplace_back("Lower bound", bound_text(plan));
  if (const std::string missed = missed_words(outcome); !missed.empty()) out.emplace_back("But", missed);
  return out;
}

std::string schedule_title(const ScheduleReport& report) {
  const Plan& plan = *report.plan;
  const std::size_t jobs = plan.instance.jobs.size(), gpus = plan.layouts.size();
  std::string out = fmt::format("{} job{} on {}{}", jobs, jobs == 1 ? "" : "s",
                                gpus > 1 ? fmt::format("{} × ", gpus) : "", printable(report.device));
  const bool alike =
      std::ranges::adjacent_find(plan.layouts, std::ranges::not_equal_to()) == plan.layouts.end();
  if (gpus > 0 && alike)
    out += ", " + printable(plan.layouts.front());
  else if (gpus > kMostLayoutsInTitle)
    out += ", set up differently";
  else
    for (std::size_t i = 0; i < gpus; ++i)
      out += fmt::format("{} GPU {}: {}", i == 0 ? "," : ";", i, printable(plan.layouts[i]));
  return fmt::format("{} – {}", out, text(Seconds(plan.outcome.makespan)));
}

}  // namespace plimsoll::report
