#include "report/tta_words.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "learn/forecast.hpp"

namespace plimsoll::report {
namespace {

using learn::Clock;
using learn::Comparison;
using learn::Interval;
using learn::SetupStudy;
using learn::Winner;

constexpr std::size_t kMostName = 40;

std::string share_text(double share) {
  return fmt::format("{:.3g} %", 100 * share);
}

std::string percent_interval(const Interval& interval) {
  if (!interval.low || !interval.high) return share_text(interval.value);
  return fmt::format("{} ({:.3g} to {:.3g} %)", share_text(interval.value), 100 * *interval.low,
                     100 * *interval.high);
}

std::string setup_name(const TtaReport& report, std::size_t setup) {
  return printable(report.study.setups[setup].name, kMostName);
}

/// The mean of what the runs spent, where it is known of all.
std::optional<double> mean_spent(const learn::Setup& setup, std::optional<double> learn::Training::* what) {
  double sum = 0;
  for (const learn::Training& training : setup.trainings) {
    if (!(training.*what)) return std::nullopt;
    sum += *(training.*what);
  }
  if (setup.trainings.empty()) return std::nullopt;
  return sum / static_cast<double>(setup.trainings.size());
}

template <class Text>
std::string or_unknown(const std::optional<double>& value, Text&& text) {
  return value ? text(*value) : std::string("-");
}

std::string joules_text(double joules) {
  return text(Joules(joules));
}
std::string dollars_text(double dollars) {
  return text(Money(dollars));
}
std::string carbon_text(double kilograms) {
  return si_text(kilograms * 1000, "g");
}

std::string chance_text(double p) {
  return p < 0.0001 ? "p < 0.0001" : fmt::format("p = {:.2g}", p);
}

std::string evidence(const Comparison& compared) {
  if (compared.by_log_rank) return fmt::format("log-rank, {}", chance_text(compared.log_rank.p));
  if (!compared.mann_whitney) return "no test can be made";
  return fmt::format("Mann-Whitney, {}, {}", compared.mann_whitney->exact ? "exact" : "normal approximation",
                     chance_text(compared.mann_whitney->p));
}

std::string needed_text(const Comparison& compared) {
  if (!compared.runs_needed) return "";
  return fmt::format(
      " A difference as large as the one seen would be found four times in five with {} runs a side.",
      *compared.runs_needed);
}

std::string comparison_sentence(const TtaReport& report, const Comparison& compared) {
  const std::string first = setup_name(report, compared.first), second = setup_name(report, compared.second);
  const std::size_t n = report.study.setups[compared.first].observations.size(),
                    m = report.study.setups[compared.second].observations.size();
  switch (compared.winner) {
    case Winner::too_few:
      return fmt::format(
          "No winner between {} and {}: with {} and {} runs no outcome could have p < {:g} (the least is "
          "{:.2g}). At least {} a side are needed.{}",
          first, second, n, m, learn::kLevel, learn::least_p(n, m), learn::kFewestRuns,
          needed_text(compared));
    case Winner::neither:
      return fmt::format("No winner between {} and {} ({}).{}", first, second, evidence(compared),
                         needed_text(compared));
    case Winner::first:
    case Winner::second: break;
  }
  const bool is_first = compared.winner == Winner::first;
  return fmt::format("{} is faster than {} ({}).", is_first ? first : second, is_first ? second : first,
                     evidence(compared));
}

/// What is to be said of a run beside its time.
std::string state_of(const TtaReport& report, const learn::Training& training,
                     const learn::Observation& seen) {
  if (seen.reached) return "";
  if (!training.goes_on) return "not reached";
  if (report.study.targets.size() != 1 || training.curves.empty()) return "goes on";
  const auto expected = learn::forecast(training.curves.front(), report.study.targets.front());
  if (!expected) return "goes on";
  const Clock clock = report.study.clock;
  return fmt::format("goes on, expected at {} ({} to {})", clock_text(expected->value, clock),
                     clock_text(expected->low, clock), clock_text(expected->high, clock));
}

}  // namespace

std::string clock_text(const std::optional<double>& value, Clock clock) {
  if (!value) return "-";
  if (clock == Clock::seconds) return text(Seconds(*value));
  return fmt::format("{} {}", *value < 100 ? fmt::format("{:.3g}", *value) : count_text(*value), name(clock));
}

std::string clock_interval_text(const std::optional<Interval>& interval, Clock clock) {
  if (!interval) return "-";
  std::string out = clock_text(interval->value, clock);
  if (interval->low && interval->high)
    out += fmt::format(" ({} to {})", clock_text(interval->low, clock), clock_text(interval->high, clock));
  return out;
}

std::string tta_title(const TtaReport& report) {
  std::string what;
  for (const learn::Target& target : report.study.targets)
    what += (what.empty() ? "" : " and ") + printable(learn::target_text(target));
  if (what.empty()) what = "the target";
  return fmt::format("Time to {}, in {}{}", what, name(report.study.clock),
                     report.evaluation.empty() ? "" : fmt::format(", evaluation {}", report.evaluation));
}

Table tta_setup_table(const TtaReport& report) {
  using enum Importance;
  const bool spent = std::ranges::any_of(report.setups, [](const learn::Setup& setup) {
    return mean_spent(setup, &learn::Training::joules) || mean_spent(setup, &learn::Training::dollars);
  });
  Table table{{{"Set-up", Align::left, true},
               {"Reached", Align::right, false, always},
               {"Median (95 %)", Align::right, false, always},
               {"Mean (95 %)", Align::right, false, telling},
               {"Olympic mean", Align::right, false, ordinary},
               {"Restricted mean (95 %)", Align::right, false, detail},
               {"Variation (95 %)", Align::right, false, telling}},
              {}};
  if (spent)
    for (const char* title : {"Energy", "Money", "CO2e"})
      table.columns.push_back({title, Align::right, false, ordinary});
  const Clock clock = report.study.clock;
  for (std::size_t i = 0; i < report.study.setups.size(); ++i) {
    const SetupStudy& one = report.study.setups[i];
    table.rows.push_back({setup_name(report, i),
                          fmt::format("{} of {}", one.reached, one.observations.size()),
                          clock_interval_text(one.median, clock), clock_interval_text(one.mean, clock),
                          clock_text(one.olympic, clock), clock_interval_text(one.restricted_mean, clock),
                          one.variation ? percent_interval(*one.variation) : "-"});
    if (!spent) continue;
    const learn::Setup& setup = report.setups[i];
    table.rows.back().push_back(or_unknown(mean_spent(setup, &learn::Training::joules), joules_text));
    table.rows.back().push_back(or_unknown(mean_spent(setup, &learn::Training::dollars), dollars_text));
    table.rows.back().push_back(or_unknown(mean_spent(setup, &learn::Training::kilograms), carbon_text));
  }
  return table;
}

Table tta_run_table(const TtaReport& report) {
  using enum Importance;
  Table table{{{"Set-up", Align::left, true},
               {"Run", Align::left, false, always},
               {"Time", Align::right, false, always},
               {"", Align::left, false, always},
               {"Energy", Align::right},
               {"Money", Align::right},
               {"CO2e", Align::right}},
              {}};
  for (std::size_t i = 0; i < report.setups.size(); ++i)
    for (std::size_t run = 0; run < report.setups[i].trainings.size(); ++run) {
      const learn::Training& training = report.setups[i].trainings[run];
      const learn::Observation& seen = report.study.setups[i].observations[run];
      table.rows.push_back(
          {setup_name(report, i), printable(training.name, 12), clock_text(seen.time, report.study.clock),
           state_of(report, training, seen), or_unknown(training.joules, joules_text),
           or_unknown(training.dollars, dollars_text), or_unknown(training.kilograms, carbon_text)});
    }
  return table;
}

Table tta_threshold_table(const TtaReport& report) {
  Table table{{{"Set-up", Align::left, true},
               {"Threshold", Align::right, false, Importance::always},
               {"Reached", Align::right, false, Importance::always},
               {"Median", Align::right, false, Importance::always}},
              {}};
  for (std::size_t i = 0; i < report.study.setups.size(); ++i)
    for (const learn::AtThreshold& at : report.study.setups[i].thresholds)
      table.rows.push_back({setup_name(report, i), fmt::format("{:.5g}", at.value),
                            fmt::format("{} of {}", at.reached, report.study.setups[i].observations.size()),
                            clock_text(at.median, report.study.clock)});
  return table;
}

Table tta_interval_table(const TtaReport& report) {
  Table table{{{"Set-up", Align::left, true},
               {"Evaluations kept", Align::right, false, Importance::always},
               {"One every", Align::right, false, Importance::always},
               {"Reached", Align::right, false, Importance::always},
               {"Median", Align::right, false, Importance::always}},
              {}};
  for (std::size_t i = 0; i < report.study.setups.size(); ++i)
    for (const learn::AtInterval& at : report.study.setups[i].intervals)
      table.rows.push_back({setup_name(report, i), at.every == 1 ? "all" : fmt::format("1 of {}", at.every),
                            clock_text(at.interval, report.study.clock),
                            fmt::format("{} of {}", at.reached, report.study.setups[i].observations.size()),
                            clock_text(at.median, report.study.clock)});
  return table;
}

std::string tta_generalisation_title(const TtaReport& report) {
  return "On other data" +
         (report.other_metric.empty() ? "" : fmt::format(" ({})", printable(report.other_metric, kMostName)));
}

Table tta_generalisation_table(const TtaReport& report) {
  Table table{{{"Set-up", Align::left, true},
               {"Runs", Align::right, false, Importance::always},
               {"Mean (95 %)", Align::right, false, Importance::always},
               {"Deviation", Align::right, false, Importance::always},
               {"Least", Align::right},
               {"Most", Align::right}},
              {}};
  const auto number = [](double value) { return fmt::format("{:.4g}", value); };
  for (std::size_t i = 0; i < report.study.setups.size(); ++i) {
    const auto& found = report.study.setups[i].generalisation;
    if (!found) continue;
    std::string mean = number(found->mean.value);
    if (found->mean.low && found->mean.high)
      mean += fmt::format(" ({} to {})", number(*found->mean.low), number(*found->mean.high));
    table.rows.push_back({setup_name(report, i), fmt::format("{}", found->runs), std::move(mean),
                          found->deviation ? number(*found->deviation) : "-", number(found->least),
                          number(found->most)});
  }
  return table;
}

Table tta_expected_table(const TtaReport& report) {
  Table table{{{"Set-up", Align::left, true},
               {"Device", Align::left, false, Importance::always},
               {"Beside", Align::left, true},
               {"Step (95 %)", Align::right, false, Importance::telling},
               {"Steps (80 %)", Align::right, false, Importance::telling},
               {"Time (80 %)", Align::right, false, Importance::always}},
              {}};
  for (const ExpectedOn& on : report.expected)
    table.rows.push_back({printable(on.setup, kMostName), printable(on.step.device, kMostName),
                          on.step.beside.empty() ? "alone" : printable(on.step.beside, 2 * kMostName),
                          clock_interval_text(on.step.seconds, Clock::seconds),
                          clock_interval_text(on.steps, Clock::steps),
                          clock_interval_text(on.seconds, Clock::seconds)});
  return table;
}

std::vector<std::string> tta_sentences(const TtaReport& report) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < report.study.setups.size(); ++i) {
    const SetupStudy& one = report.study.setups[i];
    std::string line = fmt::format("{}: {} of {} reached it, a share of {}.", setup_name(report, i),
                                   one.reached, one.observations.size(), percent_interval(one.share));
    if (one.reached < one.observations.size())
      line += " The others count as longer than they were looked at; the mean is restricted to " +
              clock_text(one.horizon, report.study.clock) + ".";
    if (one.next) {
      line += fmt::format(" One more run takes {}, in four cases of five {} to {}",
                          clock_text(one.next->value, report.study.clock),
                          clock_text(one.next->low, report.study.clock),
                          clock_text(one.next->high, report.study.clock));
      if (const auto step = report.options.step_seconds; step && report.study.clock == Clock::steps)
        line += fmt::format("; at {} a step {} ({} to {})", text(Seconds(*step)),
                            text(Seconds(*step * one.next->value)),
                            text(Seconds(*step * one.next->low.value_or(0))),
                            text(Seconds(*step * one.next->high.value_or(0))));
      line += ".";
    }
    if (one.reference)
      line += fmt::format(
          " As a reference point: mean {:.6g}, deviation {:.6g}, a submission's mean at least {:.6g}, "
          "largest speed-up {}.",
          one.reference->mean, one.reference->deviation, one.reference->least_mean,
          one.reference->most_speed_up ? fmt::format("{:.4f}", *one.reference->most_speed_up) : "any");
    if (!one.runs_needed.empty()) {
      line += " Runs a side to find a difference";
      for (std::size_t k = 0; k < one.runs_needed.size(); ++k)
        line += fmt::format("{} of {:g} %: {}", k == 0 ? "" : ",", 100 * one.runs_needed[k].difference,
                            one.runs_needed[k].runs);
      line += ".";
    }
    out.push_back(std::move(line));
  }
  for (const std::string& note : report.notes) out.push_back(note);
  return out;
}

std::vector<std::string> tta_comparisons(const TtaReport& report) {
  std::vector<std::string> out;
  for (const Comparison& compared : report.study.comparisons) {
    std::string line = comparison_sentence(report, compared);
    if (compared.ratio) {
      line += fmt::format(" {} takes {:.3g} times as long as {}", setup_name(report, compared.first),
                          compared.ratio->value, setup_name(report, compared.second));
      line += compared.ratio->low && compared.ratio->high
                  ? fmt::format(" (95 %: {:.3g} to {:.3g}).", *compared.ratio->low, *compared.ratio->high)
                  : "; so few runs give no interval.";
    }
    out.push_back(std::move(line));
  }
  return out;
}

}  // namespace plimsoll::report
