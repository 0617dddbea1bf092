#include <chrono>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <unistd.h>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "interruption.hpp"
#include "json_output.hpp"
#include "run/supervisor_client.hpp"
#include "run_ends.hpp"
#include "supervised_runs.hpp"

namespace plimsoll {
namespace {

constexpr std::chrono::milliseconds kLookForInterruption{100};

struct AttachOptions {
  std::string run;
  bool quiet = false;
  bool json = false;
};

Result<int> attach(const AttachOptions& options) {
  const Result<SupervisedRun> run = supervised_run(options.run);
  if (!run) return std::unexpected(run.error());
  if (run->socket.empty())
    return std::unexpected(
        Error{fmt::format("run {} goes on unwatched: its supervisor was killed", run->id.substr(0, 8)),
              {},
              "Its output is in output.log among its files; `plimsoll stop` ends it.",
              Error::Kind::not_found});
  Result<running::SignalSource> signals = running::SignalSource::open();
  if (!signals) return std::unexpected(std::move(signals).error());
  Interruption interruption(*std::move(signals));
  Result<running::SupervisorClient> client = running::SupervisorClient::connect(run->socket);
  if (!client) return std::unexpected(std::move(client).error());
  // With JSON on standard output the command's own goes to standard error.
  client->send({{"type", "attach"}, {"run", run->id}},
               {options.json ? STDERR_FILENO : STDOUT_FILENO, STDERR_FILENO});
  std::optional<running::Ended> ended;
  while (client->is_open() && !ended) {
    const std::vector<job::Json> messages = client->wait_and_receive(kLookForInterruption);
    if (interruption.came()) {
      if (!options.quiet)
        tell(fmt::format("run {} goes on; `plimsoll stop {}` ends it", run->id.substr(0, 8),
                         run->id.substr(0, 8)));
      return 0;
    }
    for (const job::Json& message : messages) {
      const std::string type = running::type_of(message);
      const auto text = message.find("text");
      if ((type == "warn" || (type == "say" && !options.quiet)) && text != message.end())
        tell(printable(job::text_of(*text).value_or("")));
      if (type != "ended") continue;
      Result<running::Ended> one = running::read_ended(message);
      if (one && one->run == run->id) ended = *std::move(one);
    }
  }
  if (!ended)
    return std::unexpected(Error{fmt::format("the supervisor of run {} was killed", run->id.substr(0, 8)),
                                 {},
                                 "The next start of a run marks its record.",
                                 Error::Kind::unavailable});
  if (!options.quiet) tell_end(*ended, "the command");
  if (options.json) print_json(end_json(*ended));
  return exit_code_of(*ended);
}

}  // namespace

void add_attach(CommandLine& app, Invocation& invocation) {
  auto options = std::make_shared<AttachOptions>();
  CommandLine* command = app.add_subcommand("attach", "Look at a run that goes on, until it ends");
  command->add_option("run", options->run, "The run: its id, or the beginning of it (default: the only one)")
      ->option_text("RUN");
  command->add_flag("-q,--quiet", options->quiet, "Print nothing but the command's own output");
  command->add_flag("--json", options->json,
                    "Print one JSON document at its end; the command's output goes to standard error");
  command->footer(
      "Examples:\n"
      "  plimsoll run --detach -- python train.py   starts it and comes back\n"
      "  plimsoll attach                            its output, from the last lines on\n"
      "Ctrl-C leaves the run alone. The exit code is the command's own, once it has ended.");
  command->callback([options, &invocation] { invocation.run = [options] { return attach(*options); }; });
}

}  // namespace plimsoll
