#include <memory>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "command.hpp"
#include "json_output.hpp"
#include "queue_client.hpp"
#include "queue_commands.hpp"
#include "queue_report.hpp"
#include "slurm_queue.hpp"

namespace plimsoll {
namespace {

struct ShowOptions {
  std::vector<std::string> jobs;
  bool all = false, json = false, slurm = false;
};

Result<job::Json> ask_one(bool slurm, const job::Json& message) {
  return slurm ? ask_slurm_queue("", message) : ask_queue(message);
}

Result<int> show(const ShowOptions& options, const report::TextStyle& style) {
  const auto numbers = job_numbers(options.jobs);
  PLIMSOLL_TRY(numbers);
  auto answer = ask_one(options.slurm, {{"type", "list"}, {"all", options.all}, {"numbers", *numbers}});
  PLIMSOLL_TRY(answer);
  job::Json decisions = job::Json::array();
  if (numbers->size() == 1) {
    if ((*answer)["jobs"].empty())
      return std::unexpected(
          Error{fmt::format("there is no job {}", numbers->front()), {}, {}, Error::Kind::not_found});
    if (auto told = ask_one(options.slurm, {{"type", "decisions"}, {"numbers", *numbers}}))
      decisions = (*told)["decisions"];
  }
  if (options.json) {
    nlohmann::ordered_json out{
        {"queue", (*answer)["queue"]}, {"jobs", (*answer)["jobs"]}, {"left_out", (*answer)["left_out"]}};
    if (!decisions.empty()) out["decisions"] = decisions;
    print_json(out);
    return 0;
  }
  fmt::print("{}", numbers->size() == 1 ? queue_job_text((*answer)["jobs"].front(), decisions, style)
                                        : queue_text(*answer, style));
  return 0;
}

Result<int> stop(bool json) {
  const auto answer = ask_queue({{"type", "stop"}});
  PLIMSOLL_TRY(answer);
  const auto running = (*answer)["running"].get<std::int64_t>();
  if (json)
    print_json({{"running", running}});
  else
    fmt::print("the queue's daemon ends; {} job{} on\n", running, running == 1 ? " goes" : "s go");
  return 0;
}

/// cancel, hold, release, move: the same with other words.
struct ChangeOptions {
  std::vector<std::string> jobs;
  bool json = false, quiet = false, slurm = false;
};
Result<int> change(const std::string& verb, const ChangeOptions& options) {
  const auto numbers = job_numbers(options.jobs);
  PLIMSOLL_TRY(numbers);
  const auto answer = ask_one(options.slurm, {{"type", verb}, {"numbers", *numbers}});
  PLIMSOLL_TRY(answer);
  const job::Json& refused = (*answer)["refused"];
  if (options.json) {
    print_json({{"numbers", (*answer)["numbers"]}, {"refused", refused}});
  } else {
    if (!options.quiet)
      for (const job::Json& number : (*answer)["numbers"])
        fmt::print("{}: job {}\n", verb, number.get<std::int64_t>());
    for (const job::Json& one : refused)
      fmt::print(stderr, "plimsoll: job {}: {}\n", one["number"].get<std::int64_t>(),
                 printable(job::text_of(one["why"]).value_or("")));
  }
  return refused.empty() ? 0 : 1;
}

void add_change(CommandLine& app, Invocation& invocation, const std::string& verb, const std::string& words,
                const std::string& footer) {
  auto options = std::make_shared<ChangeOptions>();
  CommandLine* command = app.add_subcommand(verb, words);
  command->add_option("jobs", options->jobs, "Numbers of jobs: 12, 14-16")->required()->option_text("JOB…");
  if (verb != "move") command->add_flag("--slurm", options->slurm, "Of yours on Slurm, in the store");
  command->add_flag("-q,--quiet", options->quiet, "Print nothing");
  command->add_flag("--json", options->json, "Print one JSON document");
  command->footer(footer);
  command->callback(
      [options, verb, &invocation] { invocation.run = [options, verb] { return change(verb, *options); }; });
}

}  // namespace

void add_queue(CommandLine& app, Invocation& invocation) {
  auto options = std::make_shared<ShowOptions>();
  CommandLine* command =
      app.add_subcommand("queue", "What waits and runs, where, why, and when it is expected to end");
  command->add_option("jobs", options->jobs, "Jobs to show: 12, 14-16 (default: all that wait or run)")
      ->option_text("JOB…");
  command->add_flag("--all", options->all, "Also those that have ended");
  command->add_flag("--slurm", options->slurm, "Yours on Slurm, from the store");
  command->add_flag("--json", options->json, "Print one JSON document");
  command->require_subcommand(0, 1);
  add_queue_start(*command, invocation);
  add_queue_output(*command, invocation);
  auto stop_json = std::make_shared<bool>(false);
  CommandLine* stopping = command->add_subcommand("stop", "End the queue's daemon; jobs that run go on");
  stopping->add_flag("--json", *stop_json, "Print one JSON document");
  stopping->footer("Examples:\n  plimsoll queue stop");
  stopping->callback([stop_json, &invocation] { invocation.run = [stop_json] { return stop(*stop_json); }; });
  command->footer(
      "Examples:\n"
      "  plimsoll queue start      the daemon, which runs jobs in the background\n"
      "  plimsoll queue            what waits and why\n"
      "  plimsoll queue 12         one job, with every decision about it\n"
      "`plimsoll submit` gives it jobs; cancel, hold, release and move change what becomes of them.");
  command->callback([options, command, &invocation] {
    if (command->has_subcommand()) return;
    invocation.run = [options, style = output_style(invocation)] { return show(*options, style); };
  });
}

void add_cancel(CommandLine& app, Invocation& invocation) {
  add_change(app, invocation, "cancel", "End jobs of the queue, or take them out of it",
             "Examples:\n  plimsoll cancel 12\n  plimsoll cancel 12 14-16");
}
void add_hold(CommandLine& app, Invocation& invocation) {
  add_change(app, invocation, "hold", "Keep jobs of the queue from starting",
             "Examples:\n  plimsoll hold 12");
}
void add_release(CommandLine& app, Invocation& invocation) {
  add_change(app, invocation, "release", "Let jobs that are held start", "Examples:\n  plimsoll release 12");
}
void add_move(CommandLine& app, Invocation& invocation) {
  add_change(app, invocation, "move", "Save a running job, stop it, and let it start again where it fits",
             "Examples:\n  plimsoll move 12\nOnly jobs that said how they save (`plimsoll submit --save`) "
             "can be moved.");
}

}  // namespace plimsoll
