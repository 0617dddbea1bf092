#include <cmath>
#include <optional>

#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "learn/forecast.hpp"
#include "report/tta_report.hpp"

namespace plimsoll::report {
namespace {

using Json = nlohmann::ordered_json;
using learn::Comparison;
using learn::Interval;
using learn::SetupStudy;

Json number_or_null(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json();
}

Json interval_json(const std::optional<Interval>& interval) {
  if (!interval) return {};
  return {{"value", number_or_null(interval->value)},
          {"low", number_or_null(interval->low)},
          {"high", number_or_null(interval->high)}};
}

/// Null where the run does not go on, or nothing can be told.
Json expected_json(const learn::Training& training, const learn::Study& study) {
  if (!training.goes_on || study.targets.size() != 1 || training.curves.empty()) return {};
  const auto expected = learn::forecast(training.curves.front(), study.targets.front());
  if (!expected) return {};
  return {{"value", expected->value},         {"low", expected->low},
          {"high", expected->high},           {"confidence", learn::kForecastConfidence},
          {"continued", expected->continued}, {"offset", expected->offset}};
}

Json runs_json(const learn::Setup& setup, const SetupStudy& study, const learn::Study& whole) {
  Json out = Json::array();
  for (std::size_t i = 0; i < study.observations.size(); ++i) {
    Json one = {{"time", study.observations[i].time}, {"reached", study.observations[i].reached}};
    if (i < setup.trainings.size()) {
      const learn::Training& training = setup.trainings[i];
      one["run"] = printable(training.name);
      one["goes_on"] = training.goes_on;
      one["expected"] = expected_json(training, whole);
      one["generalisation"] = number_or_null(training.generalisation);
      one["joules"] = number_or_null(training.joules);
      one["dollars"] = number_or_null(training.dollars);
      one["carbon_kilograms"] = number_or_null(training.kilograms);
    }
    out.push_back(std::move(one));
  }
  return out;
}

Json survival_json(const SetupStudy& study) {
  Json out = Json::array();
  for (const learn::SurvivalStep& step : study.survival)
    out.push_back({{"time", step.time},
                   {"at_risk", step.at_risk},
                   {"reached", step.reached},
                   {"censored", step.left},
                   {"share", step.share},
                   {"low", step.low},
                   {"high", step.high}});
  return out;
}

Json reference_json(const std::optional<learn::ReferencePoint>& point) {
  if (!point) return {};
  return {{"mean", point->mean},
          {"deviation", point->deviation},
          {"least_mean", point->least_mean},
          {"most_speed_up", number_or_null(point->most_speed_up)}};
}

Json generalisation_json(const std::optional<learn::Generalisation>& found) {
  if (!found) return {};
  return {{"runs", found->runs},
          {"mean", interval_json(found->mean)},
          {"deviation", number_or_null(found->deviation)},
          {"least", found->least},
          {"most", found->most}};
}

Json expected_on_json(const TtaReport& report) {
  Json out = Json::array();
  for (const ExpectedOn& on : report.expected)
    out.push_back({{"setup", printable(on.setup)},
                   {"device", printable(on.step.device)},
                   {"beside", on.step.beside.empty() ? Json() : Json(printable(on.step.beside))},
                   {"step_seconds", interval_json(on.step.seconds)},
                   {"steps", interval_json(on.steps)},
                   {"seconds", interval_json(on.seconds)}});
  return out;
}

Interval scaled(const Interval& interval, double factor) {
  const auto times = [factor](const std::optional<double>& end) {
    return end ? std::optional(*end * factor) : end;
  };
  return {interval.value * factor, times(interval.low), times(interval.high)};
}

Json setup_json(const learn::Setup& setup, const SetupStudy& study, const learn::Study& whole,
                const std::optional<double>& step_seconds) {
  Json out = {{"name", printable(study.name)},
              {"count", study.observations.size()},
              {"reached", study.reached},
              {"share", interval_json(study.share)},
              {"median", interval_json(study.median)},
              {"restricted_mean", interval_json(study.restricted_mean)},
              {"horizon", study.horizon},
              {"mean", interval_json(study.mean)},
              {"deviation", number_or_null(study.deviation)},
              {"variation", interval_json(study.variation)},
              {"olympic_mean", number_or_null(study.olympic)},
              {"next_run", interval_json(study.next)},
              {"next_run_seconds",
               step_seconds && study.next ? interval_json(scaled(*study.next, *step_seconds)) : Json()},
              {"reference", reference_json(study.reference)},
              {"runs_needed", Json::array()},
              {"thresholds", Json::array()},
              {"evaluation_intervals", Json::array()},
              {"generalisation", generalisation_json(study.generalisation)},
              {"runs", runs_json(setup, study, whole)},
              {"survival", survival_json(study)}};
  for (const learn::RunsFor& needed : study.runs_needed)
    out["runs_needed"].push_back({{"difference", needed.difference}, {"runs", needed.runs}});
  for (const learn::AtThreshold& at : study.thresholds)
    out["thresholds"].push_back(
        {{"value", at.value}, {"reached", at.reached}, {"median", number_or_null(at.median)}});
  for (const learn::AtInterval& at : study.intervals)
    out["evaluation_intervals"].push_back({{"every", at.every},
                                           {"interval", number_or_null(at.interval)},
                                           {"reached", at.reached},
                                           {"median", number_or_null(at.median)}});
  return out;
}

Json comparison_json(const Comparison& compared) {
  Json out = {{"first", compared.first},
              {"second", compared.second},
              {"winner", name(compared.winner)},
              {"by", compared.by_log_rank ? "log-rank" : "mann-whitney"},
              {"ratio", interval_json(compared.ratio)},
              {"mann_whitney", Json()},
              {"log_rank", {{"statistic", compared.log_rank.statistic}, {"p", compared.log_rank.p}}},
              {"runs_needed", compared.runs_needed ? Json(*compared.runs_needed) : Json()}};
  if (compared.mann_whitney)
    out["mann_whitney"] = {{"u", compared.mann_whitney->statistic},
                           {"p", compared.mann_whitney->p},
                           {"exact", compared.mann_whitney->exact}};
  return out;
}

}  // namespace

Json tta_json(const TtaReport& report) {
  Json out = {
      {"targets", Json::array()},
      {"clock", name(report.study.clock)},
      {"evaluation", report.evaluation.empty() ? Json() : Json(report.evaluation)},
      {"confidence", report.options.confidence},
      {"dropped", report.options.dropped},
      {"bootstrap",
       {{"method", "BCa"}, {"resamples", report.options.resamples}, {"seed", report.options.seed}}},
      {"setups", Json::array()},
      {"comparisons", Json::array()},
      {"step_seconds", number_or_null(report.options.step_seconds)},
      {"expected_on", expected_on_json(report)},
      {"generalisation_metric", report.other_metric.empty() ? Json() : Json(printable(report.other_metric))},
      {"notes", report.notes}};
  for (const learn::Target& target : report.study.targets)
    out["targets"].push_back(
        {{"metric", printable(target.metric)},
         {"direction", target.direction == learn::Direction::at_least ? "at least" : "at most"},
         {"value", target.value}});
  for (std::size_t i = 0; i < report.study.setups.size(); ++i)
    out["setups"].push_back(
        setup_json(report.setups[i], report.study.setups[i], report.study, report.options.step_seconds));
  for (const Comparison& compared : report.study.comparisons)
    out["comparisons"].push_back(comparison_json(compared));
  return out;
}

}  // namespace plimsoll::report
