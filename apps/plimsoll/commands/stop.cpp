#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "command.hpp"
#include "json_output.hpp"
#include "run/jobs_file.hpp"
#include "run/process_identity.hpp"
#include "run/recover.hpp"
#include "run/runtime_directory.hpp"
#include "run/supervisor_client.hpp"
#include "run_ends.hpp"
#include "store/store.hpp"
#include "supervised_runs.hpp"

namespace plimsoll {
namespace {

using Clock = std::chrono::steady_clock;

struct StopOptions {
  std::vector<std::string> runs;
  std::string store;
  std::string grace = "10s";
  bool all = false;
  bool kill = false;
  bool quiet = false;
  bool json = false;
};

/// Its supervisor ends it, as it would on a signal of its own, and says how that went.
std::optional<running::Ended> stop_supervised(const SupervisedRun& run, bool kill) {
  Result<running::SupervisorClient> client = running::SupervisorClient::connect(run.socket);
  if (!client) return std::nullopt;  // it has just ended
  if (kill)
    client->send({{"type", "kill"}, {"run", run.id}});
  else
    client->send({{"type", "stop"}, {"run", run.id}});
  std::optional<running::Ended> ended;
  while (client->is_open() && !ended) {
    for (const job::Json& message : client->wait_and_receive()) {
      if (running::type_of(message) != "ended") continue;
      Result<running::Ended> one = running::read_ended(message);
      if (one && one->run == run.id) ended = *std::move(one);
    }
  }
  return ended;
}

/// One that nobody watches: its processes are found by their mark.
void stop_unwatched(const SupervisedRun& run, const StopOptions& options, Seconds grace) {
  const std::string mark = fmt::format("{}={}", running::kRunVariable, run.id);
  const auto until = Clock::now() + std::chrono::duration<double>(grace.value());
  for (const running::ProcessIdentity& process : running::processes_with(mark))
    ::kill(process.pid, options.kill ? SIGKILL : SIGTERM);
  while (!running::processes_with(mark).empty()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (Clock::now() < until) continue;
    for (const running::ProcessIdentity& process : running::processes_with(mark))
      ::kill(process.pid, SIGKILL);
  }
  // Its record is ended by what ends all whose supervisors are gone.
  if (auto store = store::open(options.store, {.create = false}))
    static_cast<void>(running::recover(**store, {}));
}

Result<std::vector<SupervisedRun>> chosen(const StopOptions& options) {
  if (options.all) {
    if (!options.runs.empty()) return fail("--all and the name of a run");
    return supervised_runs();
  }
  std::vector<SupervisedRun> out;
  for (const std::string& name : options.runs) {
    Result<SupervisedRun> run = supervised_run(name);
    if (!run) return std::unexpected(std::move(run).error());
    out.push_back(*std::move(run));
  }
  if (!options.runs.empty()) return out;
  Result<SupervisedRun> only = supervised_run("");
  if (!only) return std::unexpected(std::move(only).error());
  return std::vector{*std::move(only)};
}

Result<int> stop(const StopOptions& options) {
  const auto grace = running::parse_duration(options.grace);
  if (!grace) return std::unexpected(Error(grace.error()).within("--grace"));
  const Result<std::vector<SupervisedRun>> runs = chosen(options);
  if (!runs) return std::unexpected(runs.error());
  nlohmann::ordered_json out;
  out["runs"] = nlohmann::ordered_json::array();
  for (const SupervisedRun& run : *runs) {
    std::optional<running::Ended> ended;
    if (run.socket.empty())
      stop_unwatched(run, options, *grace);
    else
      ended = stop_supervised(run, options.kill);
    if (!options.quiet && !options.json) {
      if (ended)
        tell_end(*ended, run.id.substr(0, 8));
      else
        tell(fmt::format("run {} has ended", run.id.substr(0, 8)));
    }
    out["runs"].push_back(ended ? end_json(*ended)
                                : nlohmann::ordered_json{{"run", run.id}, {"outcome", nullptr}});
  }
  if (options.json) print_json(out);
  return 0;
}

}  // namespace

void add_stop(CommandLine& app, Invocation& invocation) {
  auto options = std::make_shared<StopOptions>();
  CommandLine* command = app.add_subcommand("stop", "End runs that go on");
  command->add_option("runs", options->runs, "Runs: ids, or the beginnings of them (default: the only one)")
      ->option_text("RUN…");
  command->add_flag("--all", options->all, "All runs of yours that go on on this machine");
  command->add_flag("--kill", options->kill, "At once, without time to save anything");
  command
      ->add_option("--grace", options->grace,
                   "Of a run that nobody watches: time between asking it to end and ending it (default: 10s)")
      ->option_text("TIME");
  command
      ->add_option("--store", options->store,
                   "The store that has the record of a run that nobody watches (default: PLIMSOLL_STORE, "
                   "else plimsoll.db in your data folder)")
      ->option_text("PATH");
  command->add_flag("-q,--quiet", options->quiet, "Print nothing");
  command->add_flag("--json", options->json, "Print one JSON document");
  command->footer(
      "Examples:\n"
      "  plimsoll stop 3f2a           SIGTERM; after the run's own --grace SIGKILL\n"
      "  plimsoll stop --all --kill   everything, at once\n"
      "It comes back when the runs have ended and their records are closed.");
  command->callback([options, &invocation] { invocation.run = [options] { return stop(*options); }; });
}

}  // namespace plimsoll
