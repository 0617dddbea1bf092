#include "recorded_trainings.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/printable.hpp"
#include "base/suggest.hpp"
#include "diagnose/recording_reader.hpp"
#include "diagnose/run_figures.hpp"
#include "estimate/cost.hpp"
#include "report/run_title.hpp"
#include "train_record.hpp"

namespace plimsoll {
namespace {

using learn::Clock;
using learn::Evaluation;
using learn::Training;
using store::Point;

/// Of one metric of one run; more are thinned out evenly.
constexpr std::size_t kMostPoints = 200'000;

/// Whether a metric's values are totals, or one for each time.
struct EvaluationMetric {
  std::string_view name;
  bool total;
};
/// "eval_runtime" is what the Trainer of Hugging Face logs.
constexpr std::array<EvaluationMetric, 3> kEvaluationMetrics = {
    {{"evaluation_seconds", true}, {"eval_seconds", true}, {"eval_runtime", false}}};
constexpr std::array<std::string_view, 1> kEpochMetrics = {"epoch"};
constexpr std::array<std::string_view, 3> kSampleMetrics = {"samples", "samples_seen", "train_samples"};

std::string title_of(const store::Run& run) {
  return "run " + report::short_id(run);
}

Result<std::vector<Point>> points_of(store::Store& store, const store::Run& run, std::string_view metric) {
  Result<std::vector<Point>> points = store.sample(run.id, metric, kMostPoints);
  if (!points) return points;
  std::ranges::stable_sort(*points, {}, &Point::time);
  return points;
}

/// Nothing where it did not tell the metric, or its value is no number.
Result<std::optional<double>> last_value(store::Store& store, const store::Run& run,
                                         const std::string& metric) {
  if (metric.empty() || !run.metrics.contains(metric)) return std::nullopt;
  const Result<std::vector<Point>> points = points_of(store, run, metric);
  PLIMSOLL_TRY(points);
  if (points->empty() || !std::isfinite(points->back().value)) return std::nullopt;
  return points->back().value;
}

Error no_metric(const store::Run& run, const std::string& metric) {
  std::vector<std::string_view> own;
  for (const auto& [name, kept] : run.metrics)
    if (!name.starts_with("system/")) own.push_back(name);
  Error error{fmt::format("it told no metric {}", quote(metric)), title_of(run)};
  error.hint = did_you_mean(metric, own);
  if (error.hint.empty())
    error.hint =
        own.empty()
            ? "Its output has to say `plimsoll: metric accuracy 0.9 step 100`, or match --metric-pattern."
            : fmt::format("It told {}.", printable(fmt::format("{}", fmt::join(own, ", ")), 200));
  return error;
}

/// What another metric says at a point: of the same step where both have steps, else the latest before it.
class Companion {
 public:
  Companion(std::vector<Point> points, bool total) : points_(std::move(points)) {
    double sum = 0;
    if (!total)
      for (Point& point : points_) point.value = sum += point.value;
    by_step_ = std::ranges::any_of(points_, [](const Point& point) { return point.step != 0; });
    if (by_step_) std::ranges::stable_sort(points_, {}, &Point::step);
  }
  [[nodiscard]] std::optional<double> at(const Point& point) const {
    const bool by_step = by_step_ && point.step != 0;
    const auto after = by_step ? std::ranges::upper_bound(points_, point.step, {}, &Point::step)
                               : std::ranges::upper_bound(points_, point.time, {}, &Point::time);
    if (after == points_.begin()) return std::nullopt;
    return std::prev(after)->value;
  }

 private:
  std::vector<Point> points_;
  bool by_step_ = false;
};

Result<Companion> first_known(store::Store& store, const store::Run& run,
                              std::span<const std::string_view> names, std::string_view what) {
  for (const std::string_view name : names)
    if (run.metrics.contains(std::string(name))) {
      Result<std::vector<Point>> points = points_of(store, run, name);
      PLIMSOLL_TRY(points);
      return Companion(*std::move(points), true);
    }
  return std::unexpected(
      Error{fmt::format("it did not tell its {}", what), title_of(run),
            fmt::format("A metric {} would, or --clock steps.", fmt::join(names, " or "))});
}

Result<std::optional<Companion>> evaluation_of(store::Store& store, const store::Run& run,
                                               const TrainingQuestion& question) {
  if (!question.without_evaluation || question.clock != Clock::seconds) return std::nullopt;
  for (const EvaluationMetric& known : kEvaluationMetrics) {
    const std::string name(known.name);
    if (!question.evaluation_metric.empty() ? name != question.evaluation_metric
                                            : !run.metrics.contains(name))
      continue;
    if (!run.metrics.contains(name)) break;
    Result<std::vector<Point>> points = points_of(store, run, name);
    PLIMSOLL_TRY(points);
    return Companion(*std::move(points), known.total);
  }
  if (!question.evaluation_metric.empty() && run.metrics.contains(question.evaluation_metric)) {
    Result<std::vector<Point>> points = points_of(store, run, question.evaluation_metric);
    PLIMSOLL_TRY(points);
    return Companion(*std::move(points), true);
  }
  return std::unexpected(
      Error{"it did not tell how long its evaluation took", title_of(run),
            "A metric evaluation_seconds (all so far) or eval_runtime (each) would; another is named "
            "by --evaluation-metric; or count it in: --evaluation included."});
}

double seconds_since(const store::Run& run, store::Time time) {
  return std::max(0.0, static_cast<double>(time - run.start) / 1e6);
}

/// Turns a point's moment into the clock's.
struct ClockReading {
  Clock clock = Clock::seconds;
  std::optional<Companion> companion = {};  ///< epochs, samples; of seconds: those of evaluation

  [[nodiscard]] double at(const store::Run& run, const Point& point) const {
    switch (clock) {
      case Clock::seconds:
        return std::max(0.0,
                        seconds_since(run, point.time) - (companion ? companion->at(point).value_or(0) : 0));
      case Clock::steps: return static_cast<double>(point.step);
      case Clock::epochs:
      case Clock::samples: return companion ? companion->at(point).value_or(0) : 0;
    }
    return 0;
  }
};

Result<ClockReading> clock_of(store::Store& store, const store::Run& run, const TrainingQuestion& question) {
  ClockReading out{.clock = question.clock};
  if (question.clock == Clock::epochs || question.clock == Clock::samples) {
    const bool epochs = question.clock == Clock::epochs;
    Result<Companion> found = epochs ? first_known(store, run, kEpochMetrics, "epochs")
                                     : first_known(store, run, kSampleMetrics, "samples");
    PLIMSOLL_TRY(found);
    out.companion = *std::move(found);
  } else if (question.clock == Clock::seconds) {
    Result<std::optional<Companion>> found = evaluation_of(store, run, question);
    PLIMSOLL_TRY(found);
    out.companion = *std::move(found);
  }
  return out;
}

/// Until it was looked at: of seconds the run's end, else the last point.
double end_of(const store::Run& run, const Training& training, const TrainingQuestion& question,
              const ClockReading& clock) {
  double last = 0;
  for (const std::vector<Evaluation>& curve : training.curves)
    if (!curve.empty()) last = std::max(last, curve.back().at);
  if (question.clock != Clock::seconds || !run.end) return last;
  const Point end{*run.end, std::numeric_limits<std::int64_t>::max(), 0};
  return std::max(last, clock.at(run, end));
}

/// Joules of the run's GPUs (its own part where that is known) and of the processors, up to that second.
std::optional<double> joules_until(store::Store& store, const store::Run& run, double seconds) {
  constexpr diagnose::ReadLimits kLimits{.samples = 500'000, .own_metrics = 1};
  const auto recording = diagnose::read_recording(store, run, kLimits);
  if (!recording || !(seconds > 0)) return std::nullopt;
  const diagnose::RunFigures figures =
      diagnose::figures_of(*recording, {0, std::min(seconds, recording->seconds)});
  std::optional<double> out = figures.host.joules;
  for (const diagnose::GpuFigures& gpu : figures.gpus) {
    const std::optional<double> own = gpu.run_joules ? gpu.run_joules : gpu.joules;
    if (own) out = out.value_or(0) + *own;
  }
  return out;
}

double devices_of(const store::Run& run) {
  const auto tag = run.tags.find("plimsoll.devices");
  if (tag == run.tags.end() || tag->second.empty()) return 1;
  return 1 + static_cast<double>(std::ranges::count(tag->second, ','));
}

void add_spending(store::Store& store, const store::Run& run, const TrainingQuestion& question,
                  double seconds, Training& training) {
  training.joules = joules_until(store, run, seconds);
  if (question.price) training.dollars = question.price->value() * devices_of(run) * seconds / 3600;
  if (training.joules && question.grid != nullptr) {
    const estimate::Footprint print =
        estimate::footprint(Joules(*training.joules), question.overhead, question.grid);
    if (print.carbon) training.kilograms = print.carbon->value();
  }
}

}  // namespace

Result<Training> recorded_training(store::Store& store, const store::Run& run,
                                   const TrainingQuestion& question) {
  const Result<ClockReading> clock = clock_of(store, run, question);
  PLIMSOLL_TRY(clock);
  Training out{.name = run.id.substr(0, 8), .goes_on = run.status == store::RunStatus::running};
  Training wall = out;  // on the run's own clock, evaluation included: what energy and money go by
  for (const learn::Target& target : question.targets) {
    if (!run.metrics.contains(target.metric)) return std::unexpected(no_metric(run, target.metric));
    const Result<std::vector<Point>> points = points_of(store, run, target.metric);
    PLIMSOLL_TRY(points);
    std::vector<Evaluation>& curve = out.curves.emplace_back();
    std::vector<Evaluation>& walked = wall.curves.emplace_back();
    for (const Point& point : *points) {
      // A clock that a program sets back does not make what came later earlier.
      curve.push_back({std::max(clock->at(run, point), curve.empty() ? 0 : curve.back().at), point.value});
      walked.push_back({seconds_since(run, point.time), point.value});
    }
  }
  const Result<std::optional<double>> other = last_value(store, run, question.other_metric);
  PLIMSOLL_TRY(other);
  out.generalisation = *other;
  out.until = end_of(run, out, question, *clock);
  wall.until = run.end ? seconds_since(run, *run.end) : end_of(run, wall, {.targets = {}}, {});
  add_spending(store, run, question, learn::time_to_targets(wall, question.targets).time, out);
  return out;
}

std::optional<std::string> unusable(const store::Run& run, const Training& training,
                                    const TrainingQuestion& question) {
  if (learn::time_to_targets(training, question.targets).reached) return std::nullopt;
  if (run.status == store::RunStatus::scheduled) return "has not begun";
  // Ended by a limit it was looked at for so long; ended by a mistake it says nothing of the set-up.
  const auto outcome = run.tags.find("plimsoll.outcome");
  const bool limited =
      outcome != run.tags.end() && (outcome->second == "time-limit" || outcome->second == "epoch-limit");
  // A training of this program's own that came to its end without its target exits with 1.
  const auto own = run.params.find(std::string(kTargetReached));
  if (own != run.params.end() && own->second == "false") return std::nullopt;
  if (run.status == store::RunStatus::failed && !limited) return "failed before it reached its target";
  if (run.status == store::RunStatus::killed && !limited) return "was ended before it reached its target";
  return std::nullopt;
}

}  // namespace plimsoll
