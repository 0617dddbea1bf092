#include <algorithm>
#include <cstdio>
#include <exception>
#include <map>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "base/printable.hpp"
#include "base/suggest.hpp"
#include "command.hpp"

namespace plimsoll {
namespace {

constexpr Command kCommands[] = {
    {"weigh", add_weigh},
    {"estimate", add_estimate},
    {"measure", add_measure},
    {"probe", add_probe},
    {"choose", add_choose},
    {"training", add_training},
    {"cost", add_cost},
    {"ideal", add_ideal},
    {"oom", add_oom},
    {"replay", add_replay},
    {"inspect", add_inspect},
    {"run", add_run},
    {"runs", add_runs},
    {"store", add_store},
    {"import-mlflow", add_import_mlflow},
    {"export-mlflow", add_export_mlflow},
    {"report", add_report},
    {"serve", add_serve},
    {"top", add_top},
    {"zoo", add_zoo},
    {"devices", add_devices},
    {"export", add_export},
    {"cuda-facts", add_cuda_facts},
    {"calibration-job", add_calibration_job},
    {"engine-job", add_engine_job},
    {"completion", add_completion},
};

int report_error(const Error& error) {
  const report::TextStyle style{{}, describe_terminal(STDERR_FILENO, ColorChoice::automatic).color};
  fmt::print(stderr, "{} {}\n", report::red("plimsoll:", style), printable(error.text()));
  if (!error.hint.empty()) fmt::print(stderr, "  {}\n", printable(error.hint));
  switch (error.kind) {
    case Error::Kind::bad_input:
    case Error::Kind::not_found:
    case Error::Kind::exists_already: return 2;
    case Error::Kind::machine_lacks:
    case Error::Kind::unavailable: return 3;
    case Error::Kind::internal: return 4;
  }
  return 4;
}

bool is_command(std::string_view word) {
  return std::ranges::any_of(kCommands, [word](const Command& command) { return command.name == word; });
}

Error unknown_command(std::string_view word) {
  std::vector<std::string_view> names;
  for (const Command& command : kCommands) names.push_back(command.name);
  Error error{fmt::format("there is no command '{}'", word)};
  error.hint = did_you_mean(word, names);
  if (error.hint.empty()) error.hint = "`plimsoll --help` lists them.";
  return error;
}

/// The words after "--" of `plimsoll run`: another program's command line, in which nothing is ours to parse.
int split_off_command(int argc, char** argv, Invocation& invocation) {
  const std::span<char*> words(argv, static_cast<std::size_t>(argc));
  const auto mark = std::ranges::find(words, std::string_view("--"));
  if (mark == words.end() || std::find(words.begin(), mark, std::string_view("run")) == mark) return argc;
  invocation.command.emplace(mark + 1, words.end());
  return static_cast<int>(mark - words.begin());
}

int run(int argc, char** argv) {
  CommandLine app("Plimsoll: what a neural network needs, and what carries it.", "plimsoll");
  app.set_version_flag("--version", std::string("plimsoll " PLIMSOLL_VERSION));
  app.require_subcommand(1);
  app.footer(
      "Examples:\n"
      "  plimsoll weigh resnet50                what it needs, and which devices carry it\n"
      "  plimsoll inspect model.onnx --layers   every layer's work and bytes\n"
      "  plimsoll run -- python train.py        run it, watched and recorded\n"
      "Each command explains itself: plimsoll COMMAND --help");
  Invocation invocation;
  static const std::map<std::string, ColorChoice> kColors = {
      {"auto", ColorChoice::automatic}, {"always", ColorChoice::always}, {"never", ColorChoice::never}};
  app.add_choice("--color", invocation.color, kColors, "auto, always or never")->option_text("WHEN");
  app.fallthrough();
  for (const Command& command : kCommands) command.add(app, invocation);
  argc = split_off_command(argc, argv, invocation);
  if (argc > 1 && argv[1][0] != '-' && !is_command(argv[1])) return report_error(unknown_command(argv[1]));
  const Result<bool> named = app.parse(argc, argv);
  if (!named) {
    fmt::print(stderr,
               "plimsoll: {}\n  plimsoll --help, or plimsoll COMMAND --help, says what can be given.\n",
               printable(named.error().message));
    return 2;
  }
  if (!*named) return 0;
  const Result<int> outcome = invocation.run();
  if (std::fflush(stdout) != 0) {
    fmt::print(stderr, "plimsoll: cannot write the answer to standard output\n");
    return 4;
  }
  return outcome ? *outcome : report_error(outcome.error());
}

}  // namespace

std::span<const Command> commands() {
  return kCommands;
}

report::TextStyle output_style(const Invocation& invocation) {
  const Terminal terminal = describe_terminal(STDOUT_FILENO, invocation.color);
  return {terminal.width, terminal.color};
}

}  // namespace plimsoll

int main(int argc, char** argv) {
  try {
    return plimsoll::run(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("plimsoll: out of memory\n", stderr);
  } catch (const std::exception& error) {
    fmt::print(stderr, "plimsoll: internal error: {}\n  Please report it with the command that you ran.\n",
               error.what());
  }
  return 4;
}
