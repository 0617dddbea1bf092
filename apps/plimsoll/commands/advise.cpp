#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "changed_command.hpp"
#include "command.hpp"
#include "diagnose/recording_reader.hpp"
#include "diagnose/together.hpp"
#include "json_output.hpp"
#include "named_runs.hpp"
#include "report/advice_report.hpp"
#include "report/run_title.hpp"
#include "run/supervision.hpp"
#include "run_ends.hpp"

namespace plimsoll {
namespace {

struct AdviseOptions {
  std::string run;
  std::vector<std::string> ways;
  std::string store;
  bool tries = false, json = false;
};

/// Of a run, what is advised and what it is measured by.
struct AdvisedRun {
  diagnose::Recording recording;
  std::vector<diagnose::Improvement> improvements = {};
  std::optional<double> steps_per_second = {};
  double cores = 1;
};

Result<AdvisedRun> advised_run(store::Store& store, store::Run run) {
  Result<diagnose::Recording> recording = diagnose::read_recording(store, std::move(run), {});
  PLIMSOLL_TRY(recording);
  AdvisedRun out{.recording = *std::move(recording)};
  const diagnose::RunFigures figures = diagnose::figures_of(out.recording, out.recording.whole());
  const diagnose::Verdict verdict = diagnose::verdict_of(out.recording, figures);
  out.improvements = diagnose::improvements_of(figures, verdict, report::gpu_ratios(figures));
  if (const auto pace = diagnose::pace_of(out.recording, out.recording.whole()))
    out.steps_per_second = pace->per_second();
  out.cores = std::max(1.0, figures.host.cores.value_or(1));
  return out;
}

Result<std::vector<std::string>> words_of(const store::Run& run) {
  std::vector<std::string> words = report::command_words(run);
  if (words.empty())
    return std::unexpected(Error{"it does not say which command it was", "run " + report::short_id(run),
                                 "Only what `plimsoll run` has run can be tried again."});
  if (std::ranges::any_of(words, [](const std::string& word) { return word.contains("***"); }))
    return std::unexpected(Error{"its command held a secret, which is not kept",
                                 "run " + report::short_id(run),
                                 "Run the changed command by hand, and compare: plimsoll runs compare."});
  return words;
}

Result<report::Trial> try_out(store::Store& store, const AdvisedRun& before, const ChangeWay& way,
                              const AdviseOptions& options) {
  const store::Run& run = before.recording.run;
  const Result<std::vector<std::string>> words = words_of(run);
  PLIMSOLL_TRY(words);
  constexpr double kMostWorkers = 16;  // more seldom help, and each takes memory of its own
  auto changed = changed_command(*words, way, static_cast<std::size_t>(std::min(before.cores, kMostWorkers)));
  PLIMSOLL_TRY(changed);
  report::Trial out{.id = way.improvement, .run = {}, .made = changed->made};
  const auto known = std::ranges::find(before.improvements, way.improvement, &diagnose::Improvement::id);
  if (known != before.improvements.end())
    out.predicted = diagnose::gain_of_change(*known, changed->samples_of_step);
  running::JobSpec job{
      .command = changed->words, .experiment = run.experiment, .environment = changed->environment};
  if (const auto folder = run.tags.find("plimsoll.directory");
      folder != run.tags.end() && std::filesystem::is_directory(folder->second))
    job.directory = folder->second;
  if (const auto devices = run.tags.find("plimsoll.devices");
      devices != run.tags.end() && !devices->second.empty())
    for (std::size_t at = 0; at <= devices->second.size();) {
      const std::size_t end = std::min(devices->second.find(',', at), devices->second.size());
      job.devices.push_back(devices->second.substr(at, end - at));
      at = end + 1;
    }
  job.tags = {{"plimsoll.advice", way.improvement}, {"plimsoll.advice.of", run.id}};
  running::SessionOptions session;
  session.store = options.store;
  session.show_output = true;
  session.output_to_error = true;
  tell(fmt::format("trying {}: {}", printable(way.improvement), printable(changed->made)));
  const auto result = running::run_session({.jobs = {job}, .options = session, .quiet = true}, {});
  PLIMSOLL_TRY(result);
  if (result->ended.empty()) return fail("it was interrupted");
  out.run = result->ended.front().run;
  if (result->ended.front().outcome != running::Outcome::finished) {
    out.problem = fmt::format("it ended otherwise: {}", name(result->ended.front().outcome));
    return out;
  }
  auto after = store.find(out.run);
  PLIMSOLL_TRY(after);
  const auto advised = advised_run(store, *std::move(after));
  PLIMSOLL_TRY(advised);
  if (before.steps_per_second && advised->steps_per_second && *before.steps_per_second > 0)
    out.measured = *advised->steps_per_second * changed->samples_of_step / *before.steps_per_second;
  else
    out.problem = "one of the runs told no metric at two steps, by which to count them";
  return out;
}

Result<int> run(const AdviseOptions& options, const report::TextStyle& style) {
  std::vector<ChangeWay> ways;
  for (const std::string& text : options.ways) {
    Result<ChangeWay> way = parse_change_way(text);
    PLIMSOLL_TRY(way);
    ways.push_back(*std::move(way));
  }
  if (options.tries != !ways.empty())
    return std::unexpected(Error{
        options.tries ? "--try does not know how the command is told" : "--set is of no use without --try",
        {},
        "Write --try --set batch=--batch-size."});
  const Result<std::unique_ptr<store::Store>> store = store::open(options.store, {.create = false});
  PLIMSOLL_TRY(store);
  Result<store::Run> found = named_run(**store, options.run);
  PLIMSOLL_TRY(found);
  const Result<AdvisedRun> advised = advised_run(**store, *std::move(found));
  PLIMSOLL_TRY(advised);
  std::vector<report::Trial> trials;
  for (const ChangeWay& way : ways) {
    Result<report::Trial> trial = try_out(**store, *advised, way, options);
    PLIMSOLL_TRY(trial);
    trials.push_back(*std::move(trial));
  }
  if (options.json) {
    nlohmann::ordered_json out = {{"run", advised->recording.run.id},
                                  {"advice", report::advice_json(advised->improvements)}};
    out["trials"] = report::trials_json(trials);
    print_json(out);
    return 0;
  }
  fmt::print("{}", report::advice_text(advised->improvements, style));
  if (!trials.empty()) fmt::print("\n{}", report::trials_text(trials, style));
  return 0;
}

}  // namespace

void add_advise(CommandLine& app, Invocation& invocation) {
  auto options = std::make_shared<AdviseOptions>();
  CommandLine* command = app.add_subcommand(
      "advise",
      "What would raise the GPU's activity or shorten a training, by how much, and why; and try it");
  command->add_option("run", options->run, "A run, by the first digits of its id, or `last`")
      ->required()
      ->option_text("RUN");
  command->add_flag("--try", options->tries,
                    "Run its command again with what --set names, and measure the gain");
  command
      ->add_option("--set", options->ways,
                   "How the command is told: batch=--batch-size, loader-workers=--workers=8, "
                   "mixed-precision=USE_AMP:1")
      ->allow_extra_args(false)
      ->option_text("WHAT=HOW");
  command
      ->add_option(
          "--store", options->store,
          "The store that the runs are in (default: PLIMSOLL_STORE, else plimsoll.db in your data folder)")
      ->option_text("PATH");
  command->add_flag("--json", options->json, "Print one JSON document");
  command->footer(
      "Examples:\n"
      "  plimsoll advise last\n"
      "  plimsoll advise 3f2a91c0 --json");
  command->callback([options, &invocation] {
    invocation.run = [options, &invocation] { return run(*options, output_style(invocation)); };
  });
}

}  // namespace plimsoll
