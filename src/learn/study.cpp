#include "learn/study.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace plimsoll::learn {
namespace {

constexpr std::array kDifferences = {0.02, 0.05, 0.10};
constexpr std::array kAround = {-0.02, -0.01, -0.005, 0.0, 0.005, 0.01, 0.02};
constexpr std::array<std::size_t, 4> kEvery = {1, 2, 4, 8};

double last_time(const std::vector<Observation>& observations) {
  double out = 0;
  for (const Observation& one : observations) out = std::max(out, one.time);
  return out;
}

std::size_t count_reached(const std::vector<Observation>& observations) {
  return static_cast<std::size_t>(std::ranges::count(observations, true, &Observation::reached));
}

std::optional<double> median_value(const std::vector<Observation>& observations, double confidence) {
  const auto found = median_time(survival_curve(observations, confidence));
  return found ? std::optional(found->value) : std::nullopt;
}

/// Thresholds around the first target's, in shares of its value.
std::vector<AtThreshold> at_thresholds(const Setup& setup, std::span<const Target> targets,
                                       double confidence) {
  std::vector<AtThreshold> out;
  if (setup.trainings.empty() || targets.empty() || targets.front().value == 0) return out;
  std::vector<Target> moved(targets.begin(), targets.end());
  for (const double around : kAround) {
    moved.front().value = targets.front().value * (1 + around);
    const std::vector<Observation> found = times_to_targets(setup.trainings, moved);
    out.push_back({moved.front().value, count_reached(found), median_value(found, confidence)});
  }
  return out;
}

std::vector<AtInterval> at_intervals(const Setup& setup, std::span<const Target> targets, double confidence) {
  std::vector<AtInterval> out;
  if (setup.trainings.empty() || targets.empty()) return out;
  for (const std::size_t every : kEvery) {
    std::vector<Training> less;
    for (const Training& training : setup.trainings) less.push_back(evaluated_less(training, every));
    const std::vector<Observation> found = times_to_targets(less, targets);
    out.push_back(
        {every, evaluation_interval(less.front()), count_reached(found), median_value(found, confidence)});
  }
  return out;
}

/// Of all runs that told it, whether they reached their target or not.
std::optional<Generalisation> generalisation_of(const Setup& setup, const Resampling& resampling) {
  std::vector<double> values;
  for (const Training& training : setup.trainings)
    if (training.generalisation) values.push_back(*training.generalisation);
  if (values.empty()) return std::nullopt;
  const auto [least, most] = std::ranges::minmax(values);
  return Generalisation{.runs = values.size(),
                        .mean = bootstrap(values, mean, resampling),
                        .deviation = deviation(values),
                        .least = least,
                        .most = most};
}

/// Times in which those that never reached it are later than all others; nothing where one of them was looked
/// at for less long than another took, so that nobody knows which was the later.
std::optional<std::vector<double>> ranked_times(const SetupStudy& own, const SetupStudy& other) {
  double slowest = 0;
  for (const SetupStudy* study : {&own, &other})
    for (const Observation& one : study->observations)
      if (one.reached) slowest = std::max(slowest, one.time);
  std::vector<double> out;
  for (const Observation& one : own.observations) {
    if (!one.reached && one.time < slowest) return std::nullopt;
    out.push_back(one.reached ? one.time : std::numeric_limits<double>::infinity());
  }
  return out;
}

bool faster(const SetupStudy& first, const SetupStudy& second, const Comparison& compared) {
  if (!compared.by_log_rank && compared.mann_whitney) {
    const auto pairs = static_cast<double>(first.observations.size() * second.observations.size());
    return compared.mann_whitney->statistic < pairs / 2;
  }
  return first.restricted_mean && second.restricted_mean &&
         first.restricted_mean->value < second.restricted_mean->value;
}

Winner winner_of(const SetupStudy& first, const SetupStudy& second, const Comparison& compared) {
  if (!(least_p(first.observations.size(), second.observations.size()) < kLevel)) return Winner::too_few;
  std::optional<double> p;
  if (compared.by_log_rank) {
    p = compared.log_rank.p;
  } else if (compared.mann_whitney) {
    p = compared.mann_whitney->p;
  }
  if (!p || !(*p < kLevel)) return Winner::neither;
  return faster(first, second, compared) ? Winner::first : Winner::second;
}

}  // namespace

std::string_view name(Winner winner) {
  static constexpr std::array<std::string_view, 4> kNames = {"first", "second", "neither", "too-few-runs"};
  return kNames[static_cast<std::size_t>(winner)];
}

SetupStudy study_setup(const Setup& setup, std::span<const Target> targets, double horizon,
                       const StudyOptions& options) {
  SetupStudy out{.name = setup.name, .observations = setup.observations};
  if (setup.observations.empty()) return out;
  const double confidence = options.confidence;
  const Resampling resampling{options.resamples, options.seed, confidence};
  const std::vector<double> times = times_reached(setup.observations);
  out.reached = times.size();
  out.share = wilson(out.reached, setup.observations.size(), confidence);
  out.survival = survival_curve(setup.observations, confidence);
  out.median = median_time(out.survival);
  out.horizon = std::min(horizon, last_time(setup.observations));
  out.restricted_mean = restricted_mean(out.survival, out.horizon, confidence);
  if (out.reached == setup.observations.size()) out.mean = bootstrap(times, mean, resampling);
  if (out.reached == setup.observations.size()) out.next = next_value(times);
  out.deviation = deviation(times);
  if (variation(times)) {
    const auto or_not_a_number = [](std::span<const double> values) {
      return variation(values).value_or(std::numeric_limits<double>::quiet_NaN());
    };
    out.variation = bootstrap(times, or_not_a_number, resampling);
    for (const double difference : kDifferences)
      if (const auto runs = runs_needed(out.variation->value, difference))
        out.runs_needed.push_back({difference, *runs});
  }
  out.olympic = olympic_mean(setup.observations, options.dropped);
  if (options.submitted > 0 && out.reached == setup.observations.size())
    out.reference = reference_point(times, options.dropped, options.submitted);
  out.thresholds = at_thresholds(setup, targets, confidence);
  out.intervals = at_intervals(setup, targets, confidence);
  out.generalisation = generalisation_of(setup, resampling);
  return out;
}

Comparison compare(const SetupStudy& first, const SetupStudy& second, const StudyOptions& options) {
  Comparison out;
  const auto one = ranked_times(first, second), other = ranked_times(second, first);
  if (one && other) {
    out.mann_whitney = mann_whitney(*one, *other);
    out.ratio = hodges_lehmann_ratio(*one, *other, options.confidence);
  }
  out.log_rank = log_rank(first.observations, second.observations);
  out.by_log_rank = first.reached < first.observations.size() || second.reached < second.observations.size();
  out.winner = winner_of(first, second, out);
  if (out.ratio && first.variation && second.variation && out.ratio->value != 1) {
    const double difference = std::abs(std::log(out.ratio->value));
    const double spread = std::sqrt((first.variation->value * first.variation->value +
                                     second.variation->value * second.variation->value) /
                                    2);
    out.runs_needed = runs_needed(spread, difference);
  }
  return out;
}

Study study_of(std::span<const Setup> setups, std::span<const Target> targets, Clock clock, bool compared,
               const StudyOptions& options) {
  Study out{.targets = {targets.begin(), targets.end()}, .clock = clock};
  double horizon = std::numeric_limits<double>::infinity();
  if (compared)
    for (const Setup& setup : setups) horizon = std::min(horizon, last_time(setup.observations));
  for (const Setup& setup : setups) out.setups.push_back(study_setup(setup, targets, horizon, options));
  for (std::size_t i = 1; compared && i < out.setups.size(); ++i) {
    out.comparisons.push_back(compare(out.setups.front(), out.setups[i], options));
    out.comparisons.back().first = 0;
    out.comparisons.back().second = i;
  }
  return out;
}

}  // namespace plimsoll::learn
