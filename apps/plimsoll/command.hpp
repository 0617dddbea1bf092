#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/error.hpp"
#include "base/terminal.hpp"
#include "report/table.hpp"

namespace plimsoll {

/// What the command line came to: the command that was named sets `run`, main calls it. `run` prints the
/// answer on standard output and gives the exit code: 0 done, 1 the answer is no.
struct Invocation {
  std::function<Result<int>()> run;
  ColorChoice color = ColorChoice::automatic;
  /// What stood after "--" of `plimsoll run`.
  std::optional<std::vector<std::string>> command = {};
};

/// One row per verb; each `add` puts a subcommand with its options into the App.
struct Command {
  std::string_view name;
  void (*add)(CLI::App& app, Invocation& invocation);
};
[[nodiscard]] std::span<const Command> commands();

/// A new subcommand of `app`, which owns it. In a file of its own because whoever makes an App compiles the
/// whole of CLI11 once more.
CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& description);

void add_inspect(CLI::App& app, Invocation& invocation);
void add_estimate(CLI::App& app, Invocation& invocation);
void add_measure(CLI::App& app, Invocation& invocation);
void add_choose(CLI::App& app, Invocation& invocation);
void add_cost(CLI::App& app, Invocation& invocation);
void add_training(CLI::App& app, Invocation& invocation);
void add_ideal(CLI::App& app, Invocation& invocation);
void add_oom(CLI::App& app, Invocation& invocation);
void add_replay(CLI::App& app, Invocation& invocation);
void add_probe(CLI::App& app, Invocation& invocation);
void add_runs(CLI::App& app, Invocation& invocation);
void add_report(CLI::App& app, Invocation& invocation);
void add_weigh(CLI::App& app, Invocation& invocation);
void add_zoo(CLI::App& app, Invocation& invocation);
void add_devices(CLI::App& app, Invocation& invocation);
void add_export(CLI::App& app, Invocation& invocation);
void add_run(CLI::App& app, Invocation& invocation);
void add_cuda_facts(CLI::App& app, Invocation& invocation);
void add_calibration_job(CLI::App& app, Invocation& invocation);
void add_engine_job(CLI::App& app, Invocation& invocation);
void add_top(CLI::App& app, Invocation& invocation);
void add_completion(CLI::App& app, Invocation& invocation);

/// How to print on standard output.
[[nodiscard]] report::TextStyle output_style(const Invocation& invocation);

}  // namespace plimsoll
