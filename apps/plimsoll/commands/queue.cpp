#include <csignal>
#include <cstdio>
#include <memory>
#include <thread>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/printable.hpp"
#include "command.hpp"
#include "hardware/catalogue.hpp"
#include "json_output.hpp"
#include "plan/schedule/policy.hpp"
#include "queue/daemon.hpp"
#include "queue_client.hpp"
#include "queue_oracle.hpp"
#include "queue_report.hpp"
#include "run/jobs_file.hpp"
#include "run/provenance.hpp"

namespace plimsoll {
namespace {

struct StartOptions {
  std::string store, host, pool, policy = "plimsoll", sharing = "auto", lease = "60s", device = "this",
                                 calibration, figures, idle;
  std::vector<std::string> devices;
  std::int64_t most_per_user = 0;
  bool everybody = false, foreground = false, quiet = false;
};

struct ShowOptions {
  std::vector<std::string> jobs;
  bool all = false, json = false;
};

Result<queue::QueueSharing> sharing_named(const std::string& word) {
  if (word == "auto") return queue::QueueSharing::automatic;
  if (word == "exclusive") return queue::QueueSharing::exclusive;
  if (word == "naive") return queue::QueueSharing::naive;
  return queue::QueueSharing::mps;
}

/// In the background of its own session; comes back once the daemon answers, or has said why it does not.
Result<bool> go_behind(const std::filesystem::path& home) {
  const std::string log = (home / "daemon.log").string();
  const pid_t child = ::fork();
  if (child < 0) return fail("cannot start the daemon");
  if (child == 0) {
    ::setsid();
    if (std::freopen("/dev/null", "r", stdin) == nullptr ||
        std::freopen("/dev/null", "w", stdout) == nullptr ||
        std::freopen(log.c_str(), "a", stderr) == nullptr)
      std::_Exit(4);
    std::setvbuf(stderr, nullptr, _IOLBF, 0);
    return true;
  }
  for (int attempt = 0; attempt < 600; ++attempt) {
    if (ask_queue({{"type", "list"}})) return false;
    if (::kill(child, 0) != 0 || ::waitpid(child, nullptr, WNOHANG) == child)
      return std::unexpected(
          Error{"the daemon has ended at once", log, "Its last lines say why.", Error::Kind::machine_lacks});
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return std::unexpected(Error{"the daemon does not answer", log, {}, Error::Kind::unavailable});
}

Result<int> start(const StartOptions& options) {
  if (options.everybody && ::geteuid() != 0)
    return std::unexpected(Error{"only root's daemon can run the jobs of all users", "--all-users",
                                 "Without it, the queue is your own."});
  if (plan::schedule::policy_named(options.policy) == nullptr || options.policy == "clairvoyant")
    return std::unexpected(
        Error{fmt::format("there is no policy {}", quote(options.policy)), "--policy",
              "plimsoll, exclusive, naive, carma, best-fit, packing, dot-product or fragmentation"});
  queue::DaemonOptions daemon;
  auto place = queue::queue_place(options.everybody);
  PLIMSOLL_TRY(place);
  daemon.place = *std::move(place);
  daemon.store = options.store;
  daemon.host = options.host.empty() ? running::this_host() : options.host;
  daemon.pool = options.pool;
  daemon.policy = options.policy;
  daemon.devices = options.devices;
  daemon.everybody = options.everybody;
  daemon.most_per_user = static_cast<std::size_t>(options.most_per_user);
  const auto lease = running::parse_duration(options.lease);
  if (!lease) return std::unexpected(Error(lease.error()).within("--lease"));
  daemon.lease = *lease;
  const auto sharing = sharing_named(options.sharing);
  PLIMSOLL_TRY(sharing);
  daemon.sharing = *sharing;
  if (!options.idle.empty()) {
    const auto idle = running::parse_duration(options.idle);
    if (!idle) return std::unexpected(Error(idle.error()).within("--end-when-idle"));
    daemon.ends_when_idle = *idle;
  }
  if (ask_queue({{"type", "list"}}) && options.idle.empty())
    return std::unexpected(Error{"a queue runs on this machine already",
                                 {},
                                 "`plimsoll queue` shows it, `plimsoll queue stop` ends it.",
                                 Error::Kind::exists_already});
  auto oracle = queue_oracle(options.device, options.calibration, options.figures);
  PLIMSOLL_TRY(oracle);
  if (!options.foreground) {
    const auto behind = go_behind(daemon.place.home);
    PLIMSOLL_TRY(behind);
    if (!*behind) {
      if (!options.quiet) fmt::print("the queue of {} runs; `plimsoll submit` gives it jobs\n", daemon.host);
      return 0;
    }
  }
  daemon.say = [](const std::string& line) { fmt::print(stderr, "plimsoll: {}\n", printable(line)); };
  auto signals = running::SignalSource::open(true);
  PLIMSOLL_TRY(signals);
  return queue::run_daemon(daemon, **oracle, *std::move(signals));
}

Result<int> show(const ShowOptions& options, const report::TextStyle& style) {
  const auto numbers = job_numbers(options.jobs);
  PLIMSOLL_TRY(numbers);
  auto answer = ask_queue({{"type", "list"}, {"all", options.all}, {"numbers", *numbers}});
  PLIMSOLL_TRY(answer);
  job::Json decisions = job::Json::array();
  if (numbers->size() == 1) {
    if ((*answer)["jobs"].empty())
      return std::unexpected(
          Error{fmt::format("there is no job {}", numbers->front()), {}, {}, Error::Kind::not_found});
    if (auto told = ask_queue({{"type", "decisions"}, {"numbers", *numbers}}))
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

void add_start(CommandLine& parent, Invocation& invocation) {
  auto options = std::make_shared<StartOptions>();
  StartOptions& o = *options;
  CommandLine* command =
      parent.add_subcommand("start", "Start the queue's daemon: yours, or root's for all users");
  command->add_flag("--all-users", o.everybody, "As root: take jobs of all users, and run each as its user");
  command->add_option("-d,--device", o.devices, "GPUs to use: 0,1 or UUIDs (default: all)")
      ->delimiter(',')
      ->option_text("GPU,…");
  command
      ->add_option("--policy", o.policy,
                   "Who starts when: plimsoll (default), exclusive, naive, carma, best-fit, packing, "
                   "dot-product, fragmentation")
      ->offers(
          {"plimsoll", "exclusive", "naive", "carma", "best-fit", "packing", "dot-product", "fragmentation"})
      ->option_text("NAME");
  command
      ->add_option("--sharing", o.sharing,
                   "How jobs share a GPU: auto (default: MPS where it is installed), exclusive, naive, mps")
      ->one_of({"auto", "exclusive", "naive", "mps"})
      ->option_text("WAY");
  command->add_option("--most-per-user", o.most_per_user, "Jobs of one user that run at once, at most")
      ->in_range<std::int64_t>(1, 1'000'000)
      ->option_text("N");
  command
      ->add_option("--store", o.store,
                   "Where the queue is kept: a path, or postgresql://…, which several machines may share "
                   "(default: PLIMSOLL_STORE)")
      ->option_text("STORE");
  command->add_option("--host", o.host, "The name of this machine among those that share a store")
      ->option_text("NAME");
  command->add_option("--pool", o.pool, "Take only jobs of this pool")->option_text("NAME")->group("");
  command
      ->add_option("--lease", o.lease,
                   "For so long jobs go on while the store is away; then others may take them (default: 60s)")
      ->option_text("TIME");
  command->add_option("--end-when-idle", o.idle, "End when nothing is left to do for so long")
      ->option_text("TIME")
      ->group("");
  command->add_option("--model-device", o.device, "The device that estimates are for (default: this)")
      ->option_text("DEVICE");
  command
      ->add_option("--calibration", o.calibration,
                   "Take the calibration of this device file; `none`: use the datasheet alone")
      ->option_text("FILE");
  command
      ->add_option("--figures", o.figures,
                   "What sharing costs on this GPU, as `plimsoll probe --sharing` writes it")
      ->option_text("FILE");
  command->add_flag("--foreground", o.foreground, "Stay in the foreground, as systemd wants it");
  command->add_flag("-q,--quiet", o.quiet, "Print nothing");
  command->footer(
      "Examples:\n"
      "  plimsoll queue start\n"
      "  plimsoll queue start --device 0,1 --policy exclusive\n"
      "  plimsoll queue start --store postgresql://plimsoll@db/queue   machines that share one queue\n"
      "The daemon may end and start again: jobs go on meanwhile.");
  command->callback([options, &invocation] { invocation.run = [options] { return start(*options); }; });
}

/// cancel, hold, release, move: the same with other words.
struct ChangeOptions {
  std::vector<std::string> jobs;
  bool json = false, quiet = false;
};
Result<int> change(const std::string& verb, const ChangeOptions& options) {
  const auto numbers = job_numbers(options.jobs);
  PLIMSOLL_TRY(numbers);
  const auto answer = ask_queue({{"type", verb}, {"numbers", *numbers}});
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
  command->add_flag("--json", options->json, "Print one JSON document");
  command->require_subcommand(0, 1);
  add_start(*command, invocation);
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
