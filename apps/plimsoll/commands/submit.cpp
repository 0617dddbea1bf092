#include <chrono>
#include <filesystem>
#include <memory>
#include <thread>

#include <fmt/format.h>

#include "base/shell_word.hpp"
#include "command.hpp"
#include "json_output.hpp"
#include "queue_client.hpp"
#include "queue_report.hpp"
#include "submission.hpp"

namespace plimsoll {
namespace {

/// A daemon that left before it answered may have kept it: it is asked again when it is back, and knows by
/// the submission's token what it has already.
Result<job::Json> submit_once(const job::Json& message) {
  constexpr std::chrono::seconds kComesBack{30};
  constexpr std::chrono::milliseconds kAskAgain{200};
  // The same daemon each time: another, root's in place of one's own, does not know what the first has kept.
  std::filesystem::path socket;
  auto answer = ask_queue(message, {}, &socket);
  const bool was_there = !socket.empty();
  const auto until = std::chrono::steady_clock::now() + kComesBack;
  while (!answer && was_there && answer.error().kind == Error::Kind::unavailable &&
         std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(kAskAgain);
    answer = ask_queue(message, {}, &socket);
  }
  return answer;
}

/// Without a command it only asks for an allocation, where jobs wait and there is none.
Result<int> submit_for_slurm(const SubmitOptions& options) {
  job::Json message = job::Json::object();
  if (!options.command.empty() || !options.file.empty()) {
    auto jobs = submission(options, false);
    PLIMSOLL_TRY(jobs);
    message = *std::move(jobs);
  }
  const auto answer = submit_to_slurm(options.slurm, message, options.dry_run);
  PLIMSOLL_TRY(answer);
  if (options.json) {
    print_json(nlohmann::ordered_json(*answer));
    return 0;
  }
  if (options.dry_run) {
    std::string words;
    for (const job::Json& word : (*answer)["sbatch"])
      words += (words.empty() ? "" : " ") + shell_word(word.get<std::string>());
    fmt::print("{} <<'END'\n{}END\n", words, (*answer)["script"].get<std::string>());
    return 0;
  }
  if (options.quiet) return 0;
  const auto& numbers = (*answer)["numbers"];
  if (numbers.size() == 1)
    fmt::print("job {}, ", numbers.front().get<std::int64_t>());
  else if (!numbers.empty())
    fmt::print("jobs {} to {}, ", numbers.front().get<std::int64_t>(), numbers.back().get<std::int64_t>());
  if (answer->contains("asked"))
    fmt::print("for allocation {}, which was asked for\n", (*answer)["asked"].get<std::string>());
  else
    fmt::print("for {} that there {} already\n",
               (*answer)["allocations"].size() == 1
                   ? fmt::format("allocation {}", (*answer)["allocations"].front().get<std::string>())
                   : fmt::format("{} allocations", (*answer)["allocations"].size()),
               (*answer)["allocations"].size() == 1 ? "is" : "are");
  return 0;
}

Result<int> submit(const SubmitOptions& options, const report::TextStyle& style) {
  if (options.slurm.wanted) return submit_for_slurm(options);
  const auto message = submission(options, options.dry_run);
  PLIMSOLL_TRY(message);
  const auto answer = options.dry_run ? ask_queue(*message) : submit_once(*message);
  PLIMSOLL_TRY(answer);
  if (options.json) {
    nlohmann::ordered_json out = *answer;
    out.erase("type");
    print_json(out);
    return 0;
  }
  if (options.dry_run) {
    fmt::print("{}", expected_text(*answer, style));
    return 0;
  }
  if (options.quiet) return 0;
  const auto& numbers = (*answer)["numbers"];
  if (numbers.size() == 1)
    fmt::print("job {}\n", numbers.front().get<std::int64_t>());
  else
    fmt::print("jobs {} to {}\n", numbers.front().get<std::int64_t>(), numbers.back().get<std::int64_t>());
  return 0;
}

}  // namespace

void add_submit(CommandLine& app, Invocation& invocation) {
  auto options = std::make_shared<SubmitOptions>();
  SubmitOptions& o = *options;
  CommandLine* command =
      app.add_subcommand("submit", "Give a command to the queue, which runs it when and where it does best");
  command->usage("[OPTIONS] -- COMMAND…");
  command->usage("JOBS.toml|JOBS.json [OPTIONS]");
  command->add_option("jobs", o.file, "Jobs, as `plimsoll plan` takes them, each with its command")
      ->option_text("JOBS");
  command->add_option("-n,--name", o.name, "Name of the job and of its run")->option_text("NAME");
  command->add_option("-e,--experiment", o.experiment, "Experiment to record under")->option_text("NAME");
  command
      ->add_option("--priority", o.priority,
                   "Who has more comes first (default: 0); waiting adds one every ten minutes")
      ->in_range(-1e6, 1e6)
      ->option_text("NUMBER");
  command->add_option("--after", o.after, "Jobs that must have ended before, however: 12,14-16")
      ->delimiter(',')
      ->option_text("NUMBER,…");
  command->add_option("--need", o.need, "GPU memory that it takes: 6GiB (default: estimated, or learned)")
      ->option_text("SIZE");
  command
      ->add_option("--estimate", o.estimate,
                   "What it trains, as `plimsoll estimate` takes it: 'resnet50 --mode train --batch 64'")
      ->option_text("MODEL…");
  command->add_option("--steps", o.steps, "Steps that it does, with --estimate")
      ->in_range(1.0, 1e15)
      ->option_text("N");
  command->add_option("--seconds", o.seconds, "How long it takes alone: 90s, 10m, 1.5h")->option_text("TIME");
  command->add_option("--rate", o.rate, "Of a service: requests a second")
      ->in_range(0.1, 1e6)
      ->option_text("N");
  command->add_option("--limit", o.limit, "Of a service: 99 % of its requests must be answered within: 30ms")
      ->option_text("TIME");
  command->add_option("--deadline", o.deadline, "By when it should have ended: 2h, 2027-01-31T18:00")
      ->option_text("TIME");
  command->add_option("--gpus", o.gpus, "GPUs that it wants, for itself where more than one (default: 1)")
      ->in_range(1, 1024)
      ->option_text("N");
  command->add_flag("--alone", o.alone, "Nobody beside it");
  command->add_option("--keep", o.keep, "It keeps at least this part of its speed alone: 0.8")
      ->in_range(0.0, 1.0)
      ->option_text("SHARE");
  command
      ->add_option(
          "--save", o.save,
          "The signal on which it saves, answered by a line `plimsoll: saved …`; it may then be moved")
      ->option_text("SIGNAL");
  command->add_option("--save-patience", o.save_patience, "How long that answer may take (default: 60s)")
      ->option_text("TIME");
  command->add_option("--most-moves", o.most_moves, "How often it may be moved (default: 3)")
      ->in_range(0, 100)
      ->option_text("N");
  command->add_flag("--rerun", o.rerun, "It may run again where nobody saw its end");
  command->add_flag("--run-on", o.runs_on, "It may run on where the store is away beyond the lease");
  command->add_option("--array", o.array, "So many jobs: {index} and PLIMSOLL_ARRAY_INDEX from 0")
      ->in_range<std::int64_t>(1, 100'000)
      ->option_text("N");
  command
      ->add_option("--sweep", o.sweeps,
                   "A job for each value: lr=0.1,0.01 in the place of {lr}, else as --lr; may be given again")
      ->allow_extra_args(false)
      ->option_text("NAME=VALUE,…");
  command->add_option("-t,--time-limit", o.time_limit, "End it after this time: 90s, 10m, 1.5h")
      ->option_text("TIME");
  command->add_option("--param", o.params, "Parameter to record; may be given again")
      ->allow_extra_args(false)
      ->option_text("NAME=VALUE");
  command->add_option("--tag", o.tags, "Tag to record; may be given again")
      ->allow_extra_args(false)
      ->option_text("NAME=VALUE");
  command->add_option("--artifact", o.artifacts, "File to keep when it has ended; may be given again")
      ->allow_extra_args(false)
      ->option_text("FILE");
  command
      ->add_option("--metric-pattern", o.patterns, "How its output tells metrics, as `plimsoll run` takes it")
      ->allow_extra_args(false)
      ->option_text("PATTERN");
  command->add_flag("--hold", o.hold, "It waits until `plimsoll release`");
  command->add_flag(
      "--slurm", o.slurm.wanted,
      "On Slurm: packed inside allocations of whole GPUs, which are asked for as they are needed");
  command
      ->add_option("--slurm-option", o.slurm.options,
                   "What sbatch is to be told: --slurm-option=--partition=gpu; may be given again. Jobs with "
                   "the same share allocations")
      ->allow_extra_args(false)
      ->option_text("OPTION");
  command
      ->add_option("--allocations", o.slurm.allocations,
                   "Allocations for them at a time, at most (default: 4)")
      ->in_range<std::int64_t>(1, 10'000)
      ->option_text("N");
  command
      ->add_option("--notice", o.slurm.notice,
                   "How long before the end of an allocation's time jobs are asked to save (default: 120s)")
      ->option_text("TIME");
  command
      ->add_option("--end-when-idle", o.slurm.idle, "An empty allocation ends after this time (default: 60s)")
      ->option_text("TIME");
  command
      ->add_option("--lease", o.slurm.lease,
                   "After this time without news of an allocation its jobs are others' (default: 60s)")
      ->option_text("TIME");
  command
      ->add_option("--store", o.slurm.store,
                   "With --slurm: where the queue is kept (default: PLIMSOLL_STORE)")
      ->option_text("STORE");
  command->add_flag("--dry-run", o.dry_run,
                    "Say where, when, beside whom, and what it costs the others; submit nothing");
  command->add_flag("-q,--quiet", o.quiet, "Print nothing");
  command->add_flag("--json", o.json, "Print one JSON document");
  command->footer(
      "Examples:\n"
      "  plimsoll submit --estimate 'resnet50 --mode train --batch 64' --steps 5000 -- python train.py\n"
      "  plimsoll submit --need 6GiB --save SIGUSR1 --sweep lr=0.1,0.01 -- python train.py --lr {lr}\n"
      "  plimsoll submit --dry-run --estimate 'vgg16 --mode train --batch 32' --steps 900 -- python "
      "train.py\n"
      "  plimsoll submit night.toml\n"
      "`plimsoll queue` shows what waits, and why.");
  command->callback([options, &invocation] {
    if (invocation.command) options->command = *invocation.command;
    invocation.run = [options, style = output_style(invocation)] { return submit(*options, style); };
  });
}

}  // namespace plimsoll
