#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <vector>

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/printable.hpp"
#include "base/suggest.hpp"
#include "command.hpp"
#include "report/paragraph.hpp"

namespace plimsoll {
namespace {

constexpr Command kCommands[] = {
    {"weigh", add_weigh},
    {"estimate", add_estimate},
    {"beside", add_beside},
    {"measure", add_measure},
    {"probe", add_probe},
    {"plan", add_plan},
    {"precision", add_precision},
    {"merge", add_merge},
    {"swap", add_swap},
    {"choose", add_choose},
    {"train", add_train},
    {"training", add_training},
    {"cost", add_cost},
    {"ideal", add_ideal},
    {"oom", add_oom},
    {"replay", add_replay},
    {"inspect", add_inspect},
    {"run", add_run},
    {"attach", add_attach},
    {"stop", add_stop},
    {"submit", add_submit},
    {"queue", add_queue},
    {"cancel", add_cancel},
    {"hold", add_hold},
    {"release", add_release},
    {"move", add_move},
    {"tta", add_tta},
    {"advise", add_advise},
    {"runs", add_runs},
    {"registry", add_registry},
    {"store", add_store},
    {"import-mlflow", add_import_mlflow},
    {"export-mlflow", add_export_mlflow},
    {"report", add_report},
    {"serve", add_serve},
    {"ui", add_ui},
    {"top", add_top},
    {"zoo", add_zoo},
    {"devices", add_devices},
    {"export", add_export},
    {"supervise", add_supervise},
    {"cuda-facts", add_cuda_facts},
    {"calibration-job", add_calibration_job},
    {"engine-job", add_engine_job},
    {"complete-words", add_complete_words},
    {"completion", add_completion},
};

int report_error(const Error& error) {
  const Terminal terminal = describe_terminal(STDERR_FILENO, ColorChoice::automatic);
  const report::TextStyle style{terminal.width, terminal.color};
  // A person reads lines that end between words; a program, or who searches a log, reads one line.
  const auto line = [&](std::string_view label, const std::string& text) {
    return terminal.interactive ? report::hanging(label, text, style) : fmt::format("{}{}\n", label, text);
  };
  constexpr std::string_view kProgram = "plimsoll:";
  fmt::print(stderr, "{}{}", report::red(std::string(kProgram), style),
             line("plimsoll: ", printable(error.text())).substr(kProgram.size()));
  if (!error.hint.empty()) fmt::print(stderr, "{}", line("  ", printable(error.hint)));
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

Error unknown_command(const CommandLine& app, std::string_view word) {
  std::vector<std::string> known;
  for (const CommandLine* command : app.subcommands())
    if (!command->hidden()) known.push_back(command->name());
  const std::vector<std::string_view> names(known.begin(), known.end());
  Error error{fmt::format("there is no command '{}'", word)};
  error.hint = did_you_mean(word, names);
  if (error.hint.empty()) error.hint = "`plimsoll --help` lists them.";
  return error;
}

/// The words after "--" of `plimsoll run`: another program's command line, in which nothing is ours to parse;
/// of `plimsoll complete-words`: one that is still being written.
int split_off_command(int argc, char** argv, Invocation& invocation) {
  const std::span<char*> words(argv, static_cast<std::size_t>(argc));
  const auto mark = std::ranges::find(words, std::string_view("--"));
  const auto takes_command = [](std::string_view word) {
    return word == "run" || word == "submit" || word == "tta" || word == "complete-words";
  };
  if (mark == words.end() || std::find_if(words.begin(), mark, takes_command) == mark) return argc;
  invocation.command.emplace(mark + 1, words.end());
  return static_cast<int>(mark - words.begin());
}

/// Where another process of the program says how much this one may take for itself
/// (serve/dashboard/commands.cpp); what it starts in its turn is not bounded so.
void keep_to_memory() {
  constexpr const char* kName = "PLIMSOLL_MOST_MEMORY";
  const char* const text = std::getenv(kName);  // NOLINT(concurrency-mt-unsafe): one thread yet
  if (text == nullptr) return;
  const rlim_t bytes = std::strtoull(text, nullptr, 10);
  const rlimit limit{bytes, bytes};
  if (bytes > 0) (void)::setrlimit(RLIMIT_DATA, &limit);
  ::unsetenv(kName);  // NOLINT(concurrency-mt-unsafe)
}

/// A server beside a daemon does not stay when that is killed.
void end_with_parent() {
  constexpr const char* kName = "PLIMSOLL_ENDS_WITH_PARENT";
  if (std::getenv(kName) == nullptr) return;  // NOLINT(concurrency-mt-unsafe): one thread yet
  (void)::prctl(PR_SET_PDEATHSIG, SIGTERM);
  ::unsetenv(kName);  // NOLINT(concurrency-mt-unsafe)
}

int run(int argc, char** argv) {
  CommandLine app("Plimsoll: what a neural network needs, and what carries it.", "plimsoll");
  app.set_version_flag("--version", std::string("plimsoll " PLIMSOLL_VERSION));
  app.require_subcommand(1);
  app.footer(
      "Examples:\n"
      "  plimsoll weigh resnet50               what it needs, and what carries it\n"
      "  plimsoll inspect model.onnx --layers  every layer's work and bytes\n"
      "  plimsoll run -- python train.py       run it, watched and recorded\n"
      "`plimsoll COMMAND --help` explains a command, with examples.");
  Invocation invocation;
  static const std::map<std::string, ColorChoice> kColors = {
      {"auto", ColorChoice::automatic}, {"always", ColorChoice::always}, {"never", ColorChoice::never}};
  app.add_choice("--color", invocation.color, kColors, "Colours: auto (default), always or never")
      ->option_text("WHEN");
  app.fallthrough();
  for (const Command& command : kCommands) command.add(app, invocation);
  // `plimsoll check-line …`: whether the rest is a right command line, which is then not carried out.
  const bool only_check = argc > 1 && argv[1] == std::string_view("check-line");
  if (only_check) {
    argv[1] = argv[0];
    ++argv;
    --argc;
  }
  argc = split_off_command(argc, argv, invocation);
  if (argc > 1 && argv[1][0] != '-' && !is_command(argv[1]))
    return report_error(unknown_command(app, argv[1]));
  const Result<bool> named = app.parse(argc, argv);
  if (!named) return report_error(named.error());
  if (!*named || only_check) return 0;
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
    plimsoll::keep_to_memory();
    plimsoll::end_with_parent();
    return plimsoll::run(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("plimsoll: out of memory\n", stderr);
  } catch (const std::exception& error) {
    fmt::print(stderr, "plimsoll: internal error: {}\n  Please report it with the command that you ran.\n",
               error.what());
  }
  return 4;
}
