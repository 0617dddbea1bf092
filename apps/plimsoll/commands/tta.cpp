#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "base/printable.hpp"
#include "command.hpp"
#include "estimate/cost.hpp"
#include "hardware/prices.hpp"
#include "json_output.hpp"
#include "learn/run_target.hpp"
#include "learn/study_file.hpp"
#include "named_runs.hpp"
#include "quantity.hpp"
#include "recorded_trainings.hpp"
#include "repeated_runs.hpp"
#include "report/run_title.hpp"
#include "report/tta_report.hpp"
#include "run/jobs_file.hpp"
#include "run/metric_line.hpp"
#include "run_ends.hpp"
#include "step_times.hpp"

namespace plimsoll {
namespace {

struct TtaOptions {
  std::vector<std::string> targets, runs, compare, devices, patterns;
  std::string filter, by, from, clock = "seconds", evaluation = "included", evaluation_metric, price, offer,
                                country, pue = "average", step_time, other_metric = "other_accuracy",
                                experiment = "tta", html, store, time_limit;
  StepQuestion on;
  std::int64_t times = 10, dropped = 1, submitted = 0, resamples = 2000;
  bool json = false;
};

/// On runs that this command made: which of the commands it was.
constexpr std::string_view kSetupTag = "plimsoll.tta.setup";

constexpr std::size_t kMostJudged = 10'000;
constexpr std::size_t kMostSetupsCompared = 50;  ///< set-ups

/// Runs that belong together, with a name for them.
using Groups = std::vector<std::pair<std::string, std::vector<store::Run>>>;

Result<std::optional<MoneyPerHour>> price_of(const TtaOptions& options) {
  if (!options.price.empty()) {
    const auto price = parse_price(options.price, "--price");
    PLIMSOLL_TRY(price);
    return *price;
  }
  if (options.offer.empty()) return std::nullopt;
  const auto& all = hardware::built_in_prices();
  PLIMSOLL_TRY(all);
  const auto offer = hardware::find_offer(*all, options.offer);
  PLIMSOLL_TRY(offer);
  const auto rate = estimate::hourly_rate_of(**offer);
  if (!rate)
    return fail("{} is bought, not rented, and how long it will serve is not known",
                printable(options.offer));
  return rate->per_device;
}

Result<TrainingQuestion> question_of(const TtaOptions& options) {
  TrainingQuestion out;
  for (const std::string& text : options.targets) {
    Result<learn::Target> target = learn::parse_target(text);
    if (!target) return std::unexpected(std::move(target).error().within("--target"));
    out.targets.push_back(*std::move(target));
  }
  if (out.targets.empty())
    return std::unexpected(Error{"it is not said what is to be reached", {}, "Give --target accuracy=0.92."});
  out.clock = learn::clock_named(options.clock).value_or(learn::Clock::seconds);
  out.without_evaluation = options.evaluation == "excluded";
  out.evaluation_metric = options.evaluation_metric;
  out.other_metric = options.other_metric;
  auto price = price_of(options);
  PLIMSOLL_TRY(price);
  out.price = *price;
  const auto& carbon = hardware::built_in_carbon();
  PLIMSOLL_TRY(carbon);
  const auto overhead = hardware::find_overhead(*carbon, options.pue);
  PLIMSOLL_TRY(overhead);
  out.overhead = *overhead;
  if (!options.country.empty()) {
    const auto grid = hardware::find_grid(*carbon, options.country);
    PLIMSOLL_TRY(grid);
    out.grid = *grid;
  }
  return out;
}

Result<learn::StudyOptions> study_options(const TtaOptions& options) {
  learn::StudyOptions out{.dropped = static_cast<std::size_t>(options.dropped),
                          .submitted = static_cast<std::size_t>(options.submitted),
                          .resamples = static_cast<std::size_t>(options.resamples)};
  if (options.step_time.empty()) return out;
  if (options.clock != "steps")
    return std::unexpected(Error{"--step-time is of use where steps are counted", {}, "Add --clock steps."});
  constexpr std::string_view kRun = "run:";
  const auto step = options.step_time.starts_with(kRun)
                        ? step_of_first_minute(options.store, options.step_time.substr(kRun.size()))
                        : parse_seconds(options.step_time, "--step-time");
  PLIMSOLL_TRY(step);
  out.step_seconds = step->value();
  return out;
}

/// Curves that are all the same say nothing about chance.
void note_equal_curves(const learn::Setup& setup, std::vector<std::string>& notes) {
  const auto values_equal = [&](const learn::Training& other) {
    return !other.curves.empty() && !setup.trainings.front().curves.empty() &&
           std::ranges::equal(other.curves.front(), setup.trainings.front().curves.front(), {},
                              &learn::Evaluation::value, &learn::Evaluation::value);
  };
  if (setup.trainings.size() > 1 && std::ranges::all_of(setup.trainings, values_equal))
    notes.push_back(fmt::format(
        "All runs of {} went through the same values: they were seeded alike, so the spread is the "
        "machine's alone. {{run}} in the command stands for a number that differs.",
        printable(setup.name, 40)));
}

/// Reads the runs; what cannot be counted is told.
Result<report::TtaReport> report_of(store::Store& store, const Groups& groups,
                                    const TrainingQuestion& question, const TtaOptions& options) {
  Result<learn::StudyOptions> judging = study_options(options);
  PLIMSOLL_TRY(judging);
  report::TtaReport out{.setups = {}, .study = {}, .options = *std::move(judging)};
  if (question.clock == learn::Clock::seconds)
    out.evaluation = question.without_evaluation ? "excluded" : "included";
  bool energy_unknown = false;
  for (const auto& [name, runs] : groups) {
    learn::Setup setup{.name = name};
    for (const store::Run& run : runs) {
      Result<learn::Training> training = recorded_training(store, run, question);
      if (!training) {
        out.notes.push_back(fmt::format("Left out: {}.", printable(training.error().text())));
        if (runs.size() == 1 && groups.size() == 1) return std::unexpected(std::move(training).error());
        continue;
      }
      if (const auto why = unusable(run, *training, question)) {
        out.notes.push_back(fmt::format("Left out: run {} {}.", report::short_id(run), *why));
        continue;
      }
      energy_unknown = energy_unknown || !training->joules;
      setup.observations.push_back(learn::time_to_targets(*training, question.targets));
      setup.trainings.push_back(*std::move(training));
    }
    if (setup.observations.empty()) continue;
    note_equal_curves(setup, out.notes);
    out.setups.push_back(std::move(setup));
  }
  if (std::ranges::any_of(out.setups, [](const learn::Setup& setup) {
        return std::ranges::any_of(setup.trainings,
                                   [](const learn::Training& one) { return one.generalisation.has_value(); });
      }))
    out.other_metric = options.other_metric;
  if (out.setups.empty())
    return std::unexpected(
        Error{"there is no run that can be counted", {}, out.notes.empty() ? "" : out.notes.front()});
  if (energy_unknown)
    out.notes.emplace_back("The energy of some runs is not known: neither a GPU nor the processors told it.");
  out.study =
      learn::study_of(out.setups, question.targets, question.clock, out.setups.size() > 1, out.options);
  PLIMSOLL_TRY(add_expected(out, options.on, options.store));
  return out;
}

/// 1 where no run reached the target.
Result<int> print(const report::TtaReport& report, const TtaOptions& options,
                  const report::TextStyle& style) {
  if (!options.html.empty()) {
    PLIMSOLL_TRY(write_file(options.html, report::tta_page(report)));
    fmt::print(stderr, "the page is in {}\n", printable(options.html));
  }
  if (options.json)
    print_json(report::tta_json(report));
  else if (options.html.empty())
    fmt::print("{}", report::tta_text(report, style));
  const bool any =
      std::ranges::any_of(report.study.setups, [](const auto& setup) { return setup.reached > 0; });
  return any || report.study.setups.empty() ? 0 : 1;
}

Result<int> judge_file(const TtaOptions& options, const report::TextStyle& style) {
  constexpr std::size_t kMostBytes = std::size_t{256} << 20;
  const Result<std::string> text = read_file(options.from, kMostBytes);
  PLIMSOLL_TRY(text);
  Result<learn::StudyFile> file = learn::read_study(*text);
  if (!file) return std::unexpected(std::move(file).error().within(options.from));
  Result<learn::StudyOptions> judging = study_options(options);
  PLIMSOLL_TRY(judging);
  report::TtaReport report{.setups = std::move(file->setups), .study = {}, .options = *std::move(judging)};
  const bool compared = report.setups.size() > 1 && report.setups.size() <= kMostSetupsCompared;
  report.study = learn::study_of(report.setups, file->targets, file->clock, compared, report.options);
  PLIMSOLL_TRY(add_expected(report, options.on, options.store));
  return print(report, options, style);
}

std::string value_of(const store::Run& run, const std::string& name) {
  if (const auto found = run.params.find(name); found != run.params.end()) return found->second;
  if (const auto found = run.tags.find(name); found != run.tags.end()) return found->second;
  if (name == "command") return report::run_title(run);
  return "(none)";
}

Groups grouped(std::vector<store::Run> runs, const std::string& by) {
  if (by.empty()) return {{"all runs", std::move(runs)}};
  std::map<std::string, std::vector<store::Run>> groups;
  for (store::Run& run : runs) {
    const std::string value = value_of(run, by);
    const std::string name = by == "command" || by == kSetupTag ? value : fmt::format("{}={}", by, value);
    groups[name].push_back(std::move(run));
  }
  return {groups.begin(), groups.end()};
}

Result<int> judge_recorded(const TtaOptions& options, const report::TextStyle& style) {
  const Result<TrainingQuestion> question = question_of(options);
  PLIMSOLL_TRY(question);
  const Result<std::unique_ptr<store::Store>> store = store::open(options.store, {.create = false});
  PLIMSOLL_TRY(store);
  std::vector<store::Run> runs;
  if (!options.runs.empty()) {
    Result<std::vector<store::Run>> named = named_runs(**store, options.runs);
    PLIMSOLL_TRY(named);
    runs = *std::move(named);
  }
  if (!options.filter.empty()) {
    Result<std::vector<store::Run>> found =
        (*store)->search({.filter = options.filter, .limit = kMostJudged + 1});
    if (!found) return std::unexpected(std::move(found).error().within("--filter"));
    if (found->size() > kMostJudged) return fail("--filter finds more than {} runs", kMostJudged);
    std::ranges::reverse(*found);
    for (store::Run& run : *found)
      if (std::ranges::none_of(runs, [&](const store::Run& known) { return known.id == run.id; }))
        runs.push_back(std::move(run));
  }
  if (runs.empty())
    return std::unexpected(
        Error{"no run fits", {}, "`plimsoll runs --filter …` shows which do.", Error::Kind::not_found});
  Groups groups = grouped(std::move(runs), options.by);
  if (groups.size() > kMostSetupsCompared)
    return fail("--by {} makes more than {} set-ups", printable(options.by), kMostSetupsCompared);
  const Result<report::TtaReport> report = report_of(**store, groups, *question, options);
  PLIMSOLL_TRY(report);
  return print(*report, options, style);
}

Result<RepeatedCommand> command_of(const TtaOptions& options, std::vector<std::string> words,
                                   const std::string& name) {
  RepeatedCommand out{.name = name, .job = {}};
  out.job.command = std::move(words);
  out.job.experiment = options.experiment;
  out.job.devices = options.devices;
  out.job.tags.emplace_back(std::string(kSetupTag), name);
  if (options.targets.size() == 1) out.job.tags.emplace_back(learn::kTargetTag, options.targets.front());
  for (const std::string& pattern : options.patterns) {
    if (auto made = running::MetricPattern::make(pattern); !made)
      return std::unexpected(std::move(made).error().within("--metric-pattern"));
    out.job.metric_patterns.push_back(pattern);
  }
  if (!options.time_limit.empty()) {
    const auto limit = running::parse_duration(options.time_limit);
    if (!limit) return std::unexpected(Error(limit.error()).within("--time-limit"));
    out.job.time_limit = *limit;
  }
  return out;
}

Result<std::vector<RepeatedCommand>> commands_of(const TtaOptions& options,
                                                 const std::vector<std::string>& words) {
  std::vector<RepeatedCommand> out;
  const auto name_of = [](const std::vector<std::string>& command) { return report::script_line(command); };
  Result<RepeatedCommand> first = command_of(options, words, name_of(words));
  PLIMSOLL_TRY(first);
  out.push_back(*std::move(first));
  for (const std::string& text : options.compare) {
    const Result<std::vector<std::string>> other = running::split_words(text);
    if (!other) return std::unexpected(Error(other.error()).within("--compare"));
    if (other->empty()) return fail("--compare names no command");
    Result<RepeatedCommand> next = command_of(options, *other, name_of(*other));
    PLIMSOLL_TRY(next);
    out.push_back(*std::move(next));
  }
  return out;
}

Result<int> run_and_judge(const TtaOptions& options, const std::vector<std::string>& words,
                          const report::TextStyle& style) {
  const Result<TrainingQuestion> question = question_of(options);
  PLIMSOLL_TRY(question);
  const Result<std::vector<RepeatedCommand>> commands = commands_of(options, words);
  PLIMSOLL_TRY(commands);
  const Result<std::unique_ptr<store::Store>> store = store::open(options.store);
  PLIMSOLL_TRY(store);
  running::SessionOptions session;
  session.store = options.store;
  session.output_to_error = options.json;
  Groups groups;
  for (const RepeatedCommand& command : *commands)
    groups.emplace_back(command.name, std::vector<store::Run>());
  const std::size_t all = commands->size() * static_cast<std::size_t>(options.times);
  std::size_t done = 0;
  const auto each = [&](const RepeatedRun& repeated) {
    const std::string which =
        fmt::format("{} of {} ({})", ++done, all, printable((*commands)[repeated.command].name, 60));
    const Result<store::Run> run = (*store)->find(repeated.ended.run);
    if (!run) return tell_end(repeated.ended, which);
    if (const Result<learn::Training> training = recorded_training(**store, *run, *question)) {
      const learn::Observation seen = learn::time_to_targets(*training, question->targets);
      tell(fmt::format("{}: run {} {} after {:.4g} {}", which, report::short_id(*run),
                       seen.reached ? "reached it" : "had not reached it", seen.time, name(question->clock)));
    } else {
      tell(fmt::format("{}: {}", which, printable(training.error().text())));
    }
    groups[repeated.command].second.push_back(*run);
  };
  const auto ran = run_repeatedly(*commands, static_cast<std::size_t>(options.times), session, each);
  PLIMSOLL_TRY(ran);
  if (ran->size() < all) tell(fmt::format("{} of {} runs were made", ran->size(), all));
  std::erase_if(groups, [](const auto& group) { return group.second.empty(); });
  if (groups.empty()) return 130;
  const Result<report::TtaReport> report = report_of(**store, groups, *question, options);
  PLIMSOLL_TRY(report);
  return print(*report, options, style);
}

Result<int> run(const TtaOptions& options, const std::optional<std::vector<std::string>>& command,
                const report::TextStyle& style) {
  const bool recorded = !options.runs.empty() || !options.filter.empty();
  const int ways = (command ? 1 : 0) + (recorded ? 1 : 0) + (options.from.empty() ? 0 : 1);
  if (ways == 0 && !options.on.steps.empty()) {
    report::TtaReport report{.setups = {}, .study = {.clock = learn::Clock::steps}, .options = {}};
    PLIMSOLL_TRY(add_expected(report, options.on, options.store));
    return print(report, options, style);
  }
  if (ways != 1)
    return std::unexpected(Error{
        ways == 0 ? "there is nothing to judge" : "a command, recorded runs and a file are given at once",
        {},
        "Write `plimsoll tta --target accuracy=0.92 -- COMMAND`, `plimsoll tta --target accuracy=0.92 "
        "--filter …`, or "
        "`plimsoll tta --from FILE`."});
  if (!options.from.empty()) return judge_file(options, style);
  if (recorded) return judge_recorded(options, style);
  if (command->empty()) return fail("there is no command behind --");
  return run_and_judge(options, *command, style);
}

void add_options(CommandLine& command, TtaOptions& o) {
  command.add_option("run", o.runs, "Recorded runs, each by the first digits of its id")->option_text("RUN…");
  command
      .add_option("--target", o.targets,
                  "What is to be reached: accuracy>=0.92, loss<=0.1; several must hold at once")
      ->allow_extra_args(false)
      ->option_text("METRIC=VALUE");
  command.add_option("--runs", o.times, "How often to run the command (default: 10)")
      ->in_range(std::int64_t{1}, std::int64_t{1000})
      ->option_text("N");
  command
      .add_option("--compare", o.compare, "Another command, run in turn with the first and compared with it")
      ->allow_extra_args(false)
      ->option_text("COMMAND");
  command.add_option("--filter", o.filter, "Recorded runs, in MLflow's language: params.lr = '0.1'")
      ->option_text("FILTER");
  command
      .add_option(
          "--by", o.by,
          "Recorded runs with another value of this parameter or tag are another set-up; or `command`")
      ->option_text("NAME");
  command.add_option("--from", o.from, "Times or learning curves in a JSON file instead of runs")
      ->option_text("FILE");
  command.add_option("--clock", o.clock, "What is counted: seconds (default), steps, epochs or samples")
      ->one_of({"seconds", "steps", "epochs", "samples"})
      ->option_text("CLOCK");
  command
      .add_option("--evaluation", o.evaluation, "Whether seconds count it: included (default) or excluded")
      ->one_of({"included", "excluded"})
      ->option_text("WHETHER");
  command
      .add_option("--evaluation-metric", o.evaluation_metric,
                  "Metric that tells the seconds that evaluation took so far (default: evaluation_seconds)")
      ->option_text("NAME");
  command
      .add_option(
          "--step-time", o.step_time,
          "With --clock steps: time of a step, for the time of one more run: 62ms, or run:ID, the mean "
          "of that run's first minute")
      ->option_text("TIME");
  o.on.add_to(command);
  command
      .add_option("--generalisation", o.other_metric,
                  "Metric of the trained network on other data, whose last value counts (default: "
                  "other_accuracy, as plimsoll train --other-data tells it)")
      ->option_text("METRIC");
  command.add_option("--dropped", o.dropped, "Runs left out at each end for the olympic mean (default: 1)")
      ->in_range(std::int64_t{0}, std::int64_t{1000})
      ->option_text("N");
  command
      .add_option("--submitted", o.submitted,
                  "Give the reference point for an MLPerf submission of so many runs")
      ->in_range(std::int64_t{3}, std::int64_t{1000})
      ->option_text("N");
  command.add_option("--resamples", o.resamples, "Of the bootstrap (default: 2000)")
      ->in_range(std::int64_t{100}, std::int64_t{100'000})
      ->option_text("N");
  command.add_option("--price", o.price, "Dollars an hour of a device: 3.06/h")->option_text("PRICE");
  command.add_option("--offer", o.offer, "Or a machine by name, as in plimsoll cost --list")
      ->option_text("NAME");
  command.add_option("--country", o.country, "Whose electricity is used, for CO2e: DNK or Denmark")
      ->option_text("COUNTRY");
  command
      .add_option("--pue", o.pue,
                  "Data centre's energy over its computers': aws, google, microsoft, average, or a number")
      ->option_text("WHOSE");
  command.add_option("-d,--device", o.devices, "GPU to run on, as for plimsoll run")
      ->delimiter(',')
      ->option_text("GPU,…");
  command.add_option("-e,--experiment", o.experiment, "Experiment to record runs under (default: tta)")
      ->option_text("NAME");
  command.add_option("-t,--time-limit", o.time_limit, "End each run after this time: 90s, 10m, 1.5h")
      ->option_text("TIME");
  command.add_option("--metric-pattern", o.patterns, "Finds metrics in the output, as for plimsoll run")
      ->allow_extra_args(false)
      ->option_text("NAME=REGEX");
  command
      .add_option("--html", o.html,
                  "Write one page with learning and survival curves and the spread of times")
      ->option_text("FILE");
  command
      .add_option("--store", o.store,
                  "The store of the runs (default: PLIMSOLL_STORE, else plimsoll.db in your data folder)")
      ->option_text("PATH");
  command.add_flag("--json", o.json, "Print one JSON document");
}

}  // namespace

void add_tta(CommandLine& app, Invocation& invocation) {
  auto options = std::make_shared<TtaOptions>();
  CommandLine* command = app.add_subcommand(
      "tta", "Time to accuracy: how long trainings take to a target, and how sure that is");
  add_options(*command, *options);
  command->usage("[OPTIONS] -- COMMAND…")
      ->usage("[OPTIONS] RUN…")
      ->usage("[OPTIONS] --filter FILTER")
      ->usage("--from FILE [OPTIONS]");
  command->footer(
      "Examples:\n"
      "  plimsoll tta --target accuracy=0.92 --runs 5 -- python train.py --seed {run}\n"
      "  plimsoll tta --target accuracy=0.92 --compare 'python train.py --lr 0.2' -- python train.py --lr "
      "0.1\n"
      "  plimsoll tta --target 'loss<=0.1' --filter \"attributes.experiment_name = 'vision'\" --html "
      "tta.html\n"
      "  plimsoll tta --from times.json --json");
  command->callback([options, &invocation] {
    invocation.run = [options, &invocation] {
      return run(*options, invocation.command, output_style(invocation));
    };
  });
}

}  // namespace plimsoll
