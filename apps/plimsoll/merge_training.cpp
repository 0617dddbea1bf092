#include "merge_training.hpp"

#include <algorithm>
#include <ranges>

#include <fmt/format.h>

#include "base/files.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"
#include "interruption.hpp"
#include "measure/engine_program.hpp"
#include "measure/engine_run.hpp"
#include "model_source.hpp"
#include "progress_line.hpp"
#include "report/merge_training.hpp"
#include "setting_options.hpp"
#include "trained_files.hpp"

namespace plimsoll {
namespace {

using plan::merge::Found;
using plan::merge::Group;
using plan::merge::Method;
using plan::merge::Sharing;

constexpr std::size_t kLargestTasks = std::size_t{1} << 20;
// A test of a large data set is silent for long.
constexpr measure::EngineLimits kJointLimits{.whole = std::chrono::hours(24 * 365),
                                             .silence = std::chrono::hours(24)};
constexpr double kMostEpochs = 1e6, kMostLearningRate = 1e6;

/// Statistics of a normalisation are each network's own, whatever is shared.
bool can_be_trained(const Group& group) {
  return group.kind != plan::merge::LayerKind::normalization &&
         group.kind != plan::merge::LayerKind::recurrent;
}

std::vector<plan::merge::Candidate> candidates_of(const std::vector<plan::merge::Model>& models,
                                                  const std::vector<Group>& groups) {
  std::vector<plan::merge::Candidate> out;
  for (const Group& group : groups)
    out.push_back({.bytes = group.bytes,
                   .members = static_cast<int>(group.members.size()),
                   .effort = expected_effort(models, group)});
  return out;
}

Result<Found> search(Method method, const std::vector<plan::merge::Candidate>& candidates,
                     const plan::merge::Oracle& oracle, std::uint64_t seed) {
  switch (method) {
    case Method::none: break;
    case Method::stem:
    case Method::all_at_once: return search_all_at_once(candidates, oracle);
    case Method::greedy: return search_greedy(candidates, oracle);
    case Method::random: return search_random(candidates, oracle, seed);
    case Method::plimsoll: return search_own(candidates, oracle);
    case Method::exact: return search_exact(candidates, oracle);
  }
  return Found{.sharing = Sharing(candidates.size(), 0), .saved = {}, .epochs = 0, .trials = 0};
}

struct Members {
  std::vector<ReadyTraining> ready;
  std::vector<std::filesystem::path> weights;  ///< files that were named for them
};

/// So that a file that has changed is another one; nothing for names of the zoo.
std::string mark_of(const std::filesystem::path& file) {
  std::error_code problem;
  const auto bytes = std::filesystem::file_size(file, problem);
  if (problem) return {};
  const auto changed = std::filesystem::last_write_time(file, problem);
  return fmt::format(" of {} bytes at {}", bytes, changed.time_since_epoch().count());
}

/// What decides the result beside the models' weights: a folder of other trials is refused.
std::string asked_of(const MergeTrainingOptions& options, const Members& members, Method method,
                     std::uint64_t seed) {
  std::string out = fmt::format("{} {} target {} epochs {}", plan::merge::name(method), seed, options.target,
                                options.epochs);
  for (const ReadyTraining& member : members.ready) {
    const job::Job& job = member.job;
    out += fmt::format("; {}{}, {} {} examples, {} {} {} {}", member.label, mark_of(member.label),
                       job.data->file, member.examples, job.setting.batch.value_or(0),
                       network::name(job.setting.optimizer), job.execution.learning_rate, job.execution.seed);
  }
  for (const std::filesystem::path& file : members.weights)
    out += fmt::format("; {}{}", file.string(), mark_of(file));
  return out;
}

Result<Members> make_members(const MergeTrainingOptions& options, const std::vector<std::string>& models) {
  const Result<std::string> text = read_file(options.tasks, kLargestTasks);
  PLIMSOLL_TRY(text);
  std::error_code ignored;
  const std::filesystem::path folder = std::filesystem::absolute(options.tasks, ignored).parent_path();
  const auto tasks = read_merge_tasks(*text, folder, models, options.common);
  if (!tasks) {
    Error error = tasks.error().front();
    for (const Error& more : tasks.error() | std::views::drop(1)) error.message += "\n  " + more.text();
    return std::unexpected(std::move(error).within(printable(options.tasks)));
  }
  Members out;
  for (const TrainOptions& task : *tasks) {
    auto ready = make_ready(task, false, {});
    if (!ready) return std::unexpected(std::move(ready).error().within(printable(task.model)));
    if (ready->job.weights.empty())
      return std::unexpected(Error{"has no weights: nothing was learned that could be kept",
                                   printable(task.model),
                                   "Name an ONNX file that was trained, or weights = \"FILE.safetensors\"."});
    if (ready->test_examples == 0 || !ready->classes)
      return std::unexpected(
          Error{"there are no examples of classes to test on: nobody could say whether it stays as good",
                printable(task.model), "hold-out = 0.1 keeps a tenth for that."});
    out.ready.push_back(*std::move(ready));
    out.weights.push_back(task.weights.file);
  }
  return out;
}

/// The weights that a model ended with, as an ONNX file in `folder`.
Result<std::filesystem::path> write_member(ReadyTraining& member, const std::filesystem::path& weights,
                                           const std::filesystem::path& folder) {
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (!problem)
    std::filesystem::copy_file(weights, folder / job::kTrainedFile,
                               std::filesystem::copy_options::overwrite_existing, problem);
  if (problem)
    return std::unexpected(Error{"cannot be written: " + problem.message(), printable(folder.string()), {}});
  member.job.learning.folder = folder.string();
  return write_trained_onnx(member);
}

/// Why a job of an engine came to nothing, if it did.
std::optional<Error> failure_in(const job::Answer& answer) {
  if (const auto* failure = std::get_if<job::Failure>(&answer))
    return Error{failure->message, failure->where, failure->hint};
  if (const auto* full = std::get_if<job::DoesNotFit>(&answer))
    return Error{"the models do not fit together: " + full->message, {}, "A smaller --batch takes less."};
  if (const auto* missing = std::get_if<job::Unsupported>(&answer); missing && !missing->operators.empty())
    return Error{fmt::format("the engine does not know {}", missing->operators.front().op)};
  return std::nullopt;
}

/// Each job in a fresh engine. Program and interruption outlive it.
learn::RunJob in_engines(const std::filesystem::path& engine, Interruption& interruption) {
  return [&engine, &interruption](const job::Job& job,
                                  const std::function<void(const job::Answer&)>& hear) -> Status {
    std::optional<Error> failed;
    ProgressLine progress(1, 0);
    progress.begin_row("joint training");
    const measure::EngineListener listener{.on_answer =
                                               [&](const job::Answer& answer) {
                                                 hear(answer);
                                                 if (!failed) failed = failure_in(answer);
                                                 if (const auto* at = std::get_if<job::Progress>(&answer))
                                                   progress.show(*at);
                                               },
                                           .on_turn = {},
                                           .interrupted = [&] { return interruption.came(); }};
    const auto end = measure::run_engine(engine, job, kJointLimits, listener);
    PLIMSOLL_TRY(end);
    if (*end == measure::EngineEnd::interrupted) return fail("interrupted");
    if (failed) return std::unexpected(*failed);
    return {};
  };
}

}  // namespace

void MergeTrainingOptions::add_to(CommandLine& command) {
  auto* const data =
      command
          .add_option("--data", tasks,
                      "Train the models together, group by group: a TOML file with the [[task]] of each")
          ->option_text("TASKS.toml");
  command.add_option("--target", target, "Share of its own accuracy that every model keeps (default: 0.95)")
      ->in_range(0.01, 1.0)
      ->needs(data)
      ->option_text("SHARE");
  command
      .add_option(
          "--progress", progress,
          "Folder in which trials are kept; the next start with it goes on (default: OUTPUT.progress)")
      ->needs(data)
      ->option_text("FOLDER");
  command.add_option("--epochs,-e", epochs, "Joint epochs of one trial, at most (default: 4)")
      ->in_range<std::int64_t>(1, static_cast<std::int64_t>(kMostEpochs))
      ->needs(data)
      ->option_text("N");
  command.add_option("--batch,-b", common.setting.batch, "Examples of each model in a step (default: 128)")
      ->positive()
      ->needs(data)
      ->option_text("N");
  command.add_option("--lr", common.execution.learning_rate, "Learning rate (default: 0.01)")
      ->in_range(0.0, kMostLearningRate)
      ->needs(data)
      ->option_text("RATE");
  add_optimizer_option(command, common.setting.optimizer);
  command.add_option("--device,-d", common.device, "cpu, cuda or cuda:N (default: cpu)")
      ->needs(data)
      ->option_text("DEVICE");
  command.add_option("--threads", common.execution.threads, "Threads of the CPU (default: 0, all cores)")
      ->in_range<std::int64_t>(0, 65536)
      ->needs(data)
      ->option_text("N");
}

Result<std::optional<MergeTraining>> train_merge(const MergeTrainingOptions& options,
                                                 const std::vector<std::string>& models,
                                                 const plan::merge::Scope& scope, Method method,
                                                 std::uint64_t seed, const TellMerge& tell) {
  MergeTrainingOptions asked = options;
  asked.common.execution.seed = seed;
  asked.common.no_track = true;
  if (asked.common.device.empty()) asked.common.device = "cpu";
  Result<Members> members = make_members(asked, models);
  PLIMSOLL_TRY(members);
  const Result<std::filesystem::path> engine = measure::find_engine(measure::EngineSearch::of_this_process());
  PLIMSOLL_TRY(engine);
  MergeTraining out;
  const std::string what = asked_of(asked, *members, method, seed);
  out.members = std::move(members->ready);
  learn::JointMerge merge{.target = asked.target, .epochs = asked.epochs};
  for (std::size_t i = 0; i < models.size(); ++i) {
    merge.jobs.push_back(out.members[i].job);
    out.models.push_back(plan::merge::describe(models[i], out.members[i].job.network));
  }
  plan::merge::Plan plan =
      make_plan(out.models, scope, method == Method::random ? Method::greedy : method, seed);
  out.tried = method == Method::stem ? std::move(plan.chosen) : std::move(plan.groups);
  std::erase_if(out.tried, [](const Group& group) { return !can_be_trained(group); });
  merge.models = out.models;
  merge.groups = out.tried;
  merge.asked = what;

  Result<running::SignalSource> signals = running::SignalSource::open();
  PLIMSOLL_TRY(signals);
  Interruption interruption(*std::move(signals));
  const std::filesystem::path folder = asked.progress;
  Result<learn::JointTrials> trials =
      learn::JointTrials::open(std::move(merge), folder, in_engines(*engine, interruption));
  if (!trials && interruption.signal() != 0) return std::nullopt;
  PLIMSOLL_TRY(trials);
  const std::vector<plan::merge::Candidate> all = candidates_of(out.models, out.tried);
  tell(fmt::format("{} groups may be shared; at most {} are saved. Trials are kept in {}", all.size(),
                   text(plan.ceiling.saved()), printable(folder.string())));
  const std::vector<double> floors = trials->floors();
  for (const learn::JointTrial& known : trials->trials())
    tell("known: " + report::trial_words(known, all, floors));
  trials->on_end = [&](const learn::JointTrial& trial) { tell(report::trial_words(trial, all, floors)); };
  Result<Found> found = search(
      method, all, [&](const Sharing& held, const Sharing& wanted) { return trials->try_out(held, wanted); },
      seed);
  if (interruption.signal() != 0) return std::nullopt;
  PLIMSOLL_TRY(found);
  out.found = *std::move(found);
  if (trials->failure()) return std::unexpected(*trials->failure());
  const auto weights = trials->trained_weights(out.found.sharing);
  PLIMSOLL_TRY(weights);
  out.candidates = all;
  out.own = trials->own();
  out.floors = floors;
  out.accuracies = trials->accuracies_with(out.found.sharing);
  out.trials = trials->trials();
  if (*weights)
    for (std::size_t i = 0; i < out.members.size(); ++i) {
      auto file =
          write_member(out.members[i], **weights / job::member_file(i), folder / fmt::format("model-{}", i));
      PLIMSOLL_TRY(file);
      out.files.push_back(*std::move(file));
    }
  return out;
}

}  // namespace plimsoll
