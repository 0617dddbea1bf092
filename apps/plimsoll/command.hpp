#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/terminal.hpp"
#include "command_line.hpp"
#include "report/table.hpp"

namespace plimsoll {

/// What the command line came to: the command that was named sets `run`, main calls it. `run` prints the
/// answer on standard output and gives the exit code: 0 done, 1 the answer is no.
struct Invocation {
  std::function<Result<int>()> run;
  ColorChoice color = ColorChoice::automatic;
  /// What stood after "--" of `plimsoll run`, `submit`, `tta` and `plimsoll complete-words`.
  std::optional<std::vector<std::string>> command = {};
};

/// One row per verb; each `add` puts a subcommand with its options into `app`.
struct Command {
  std::string_view name;
  void (*add)(CommandLine& app, Invocation& invocation);
};
[[nodiscard]] std::span<const Command> commands();

void add_inspect(CommandLine& app, Invocation& invocation);
void add_estimate(CommandLine& app, Invocation& invocation);
void add_beside(CommandLine& app, Invocation& invocation);
void add_measure(CommandLine& app, Invocation& invocation);
void add_choose(CommandLine& app, Invocation& invocation);
void add_cost(CommandLine& app, Invocation& invocation);
void add_train(CommandLine& app, Invocation& invocation);
void add_training(CommandLine& app, Invocation& invocation);
void add_ideal(CommandLine& app, Invocation& invocation);
void add_oom(CommandLine& app, Invocation& invocation);
void add_replay(CommandLine& app, Invocation& invocation);
void add_plan(CommandLine& app, Invocation& invocation);
void add_precision(CommandLine& app, Invocation& invocation);
void add_merge(CommandLine& app, Invocation& invocation);
void add_swap(CommandLine& app, Invocation& invocation);
void add_probe(CommandLine& app, Invocation& invocation);
void add_advise(CommandLine& app, Invocation& invocation);
void add_tta(CommandLine& app, Invocation& invocation);
void add_runs(CommandLine& app, Invocation& invocation);
void add_registry(CommandLine& app, Invocation& invocation);
void add_store(CommandLine& app, Invocation& invocation);
void add_import_mlflow(CommandLine& app, Invocation& invocation);
void add_export_mlflow(CommandLine& app, Invocation& invocation);
void add_report(CommandLine& app, Invocation& invocation);
void add_weigh(CommandLine& app, Invocation& invocation);
void add_zoo(CommandLine& app, Invocation& invocation);
void add_devices(CommandLine& app, Invocation& invocation);
void add_export(CommandLine& app, Invocation& invocation);
void add_run(CommandLine& app, Invocation& invocation);
void add_attach(CommandLine& app, Invocation& invocation);
void add_stop(CommandLine& app, Invocation& invocation);
void add_submit(CommandLine& app, Invocation& invocation);
void add_queue(CommandLine& app, Invocation& invocation);
void add_cancel(CommandLine& app, Invocation& invocation);
void add_hold(CommandLine& app, Invocation& invocation);
void add_release(CommandLine& app, Invocation& invocation);
void add_move(CommandLine& app, Invocation& invocation);
void add_supervise(CommandLine& app, Invocation& invocation);
void add_cuda_facts(CommandLine& app, Invocation& invocation);
void add_calibration_job(CommandLine& app, Invocation& invocation);
void add_engine_job(CommandLine& app, Invocation& invocation);
void add_serve(CommandLine& app, Invocation& invocation);
void add_top(CommandLine& app, Invocation& invocation);
void add_ui(CommandLine& app, Invocation& invocation);
void add_complete_words(CommandLine& app, Invocation& invocation);
void add_completion(CommandLine& app, Invocation& invocation);

/// How to print on standard output.
[[nodiscard]] report::TextStyle output_style(const Invocation& invocation);

}  // namespace plimsoll
