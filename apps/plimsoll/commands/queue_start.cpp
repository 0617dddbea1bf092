#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/printable.hpp"
#include "base/process.hpp"
#include "queue/daemon.hpp"
#include "queue_client.hpp"
#include "queue_commands.hpp"
#include "queue_oracle.hpp"
#include "run/jobs_file.hpp"
#include "run/provenance.hpp"
#include "slurm_queue.hpp"

namespace plimsoll {
namespace {

const std::vector<std::string> kPolicies = {"plimsoll", "exclusive", "naive",       "carma",
                                            "best-fit", "packing",   "dot-product", "fragmentation"};

struct StartOptions {
  std::string store, host, pool, policy = "plimsoll", sharing = "auto", lease = "60s", device = "this",
                                 calibration, figures, idle;
  std::vector<std::string> devices;
  std::int64_t most_per_user = 0;
  bool everybody = false, foreground = false, quiet = false;
  int page = -1;            ///< the port of the page; none
  SlurmOptions slurm = {};  ///< inside an allocation
  int allocation_gpus = 1;
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
    if (ask_queue({{"type", "list"}, {"quick", true}})) return false;
    if (::kill(child, 0) != 0 || ::waitpid(child, nullptr, WNOHANG) == child)
      return std::unexpected(
          Error{"the daemon has ended at once", log, "Its last lines say why.", Error::Kind::machine_lacks});
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return std::unexpected(Error{"the daemon does not answer", log, {}, Error::Kind::unavailable});
}

/// `plimsoll serve` beside the daemon, as long as that runs: a process of its own, so that nothing that is
/// asked of it holds up jobs.
class PageBeside {
 public:
  PageBeside(const std::string& store, int port) {
    std::error_code problem;
    ProcessOptions options{.argv = {std::filesystem::read_symlink("/proc/self/exe", problem).string(),
                                    "serve", "--port", fmt::format("{}", port)}};
    if (!store.empty()) options.environment.emplace_back("PLIMSOLL_STORE", store);
    options.environment.emplace_back("PLIMSOLL_ENDS_WITH_PARENT", "1");
    options.should_end = [this] { return stopping_.load(); };
    options.output_limit = 0;
    options.on_output_line = [](std::string_view line) {
      fmt::print(stderr, "plimsoll: {}\n", printable(line));
    };
    options.on_error_line = options.on_output_line;
    thread_ = std::jthread([options = std::move(options)] { (void)plimsoll::run(options); });
  }
  ~PageBeside() { stopping_ = true; }
  PageBeside(const PageBeside&) = delete;
  PageBeside& operator=(const PageBeside&) = delete;

 private:
  std::atomic<bool> stopping_ = false;
  std::jthread thread_;
};

Result<int> start(const StartOptions& options) {
  if (options.everybody && ::geteuid() != 0)
    return std::unexpected(Error{"only root's daemon can run the jobs of all users", "--all-users",
                                 "Without it, the queue is your own."});
  if (options.page >= 0 && (options.everybody || options.slurm.wanted))
    return std::unexpected(
        Error{"the page is of one user", "--ui",
              "Start `plimsoll serve` or `plimsoll ui` as the user who is to see it: it finds this queue."});
  if (std::ranges::find(kPolicies, options.policy) == kPolicies.end())
    return std::unexpected(
        Error{fmt::format("there is no policy {}", quote(options.policy)), "--policy",
              "plimsoll, exclusive, naive, carma, best-fit, packing, dot-product or fragmentation"});
  queue::DaemonOptions daemon;
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
  if (options.slurm.wanted) {
    SlurmOptions slurm = options.slurm;
    slurm.lease = options.lease;
    if (!options.idle.empty()) slurm.idle = options.idle;
    PLIMSOLL_TRY(move_into_allocation(slurm, options.allocation_gpus, daemon));
  } else {
    auto place = queue::queue_place(options.everybody);
    PLIMSOLL_TRY(place);
    daemon.place = *std::move(place);
  }
  if (!options.idle.empty()) {
    const auto idle = running::parse_duration(options.idle);
    if (!idle) return std::unexpected(Error(idle.error()).within("--end-when-idle"));
    daemon.ends_when_idle = *idle;
  }
  if (options.idle.empty() && ask_queue({{"type", "list"}, {"quick", true}}))
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
      if (!options.quiet && options.page > 0)
        fmt::print("its page is at http://127.0.0.1:{}/\n", options.page);
      return 0;
    }
  }
  daemon.say = [](const std::string& line) { fmt::print(stderr, "plimsoll: {}\n", printable(line)); };
  auto signals = running::SignalSource::open(true);
  PLIMSOLL_TRY(signals);
  std::optional<PageBeside> page;
  if (options.page >= 0) page.emplace(options.store, options.page);
  auto code = queue::run_daemon(daemon, **oracle, *std::move(signals));
  if (options.slurm.wanted) {  // nobody comes back to it
    std::error_code ignored;
    std::filesystem::remove_all(daemon.place.home, ignored);
  }
  return code;
}

}  // namespace

void add_queue_start(CommandLine& queue, Invocation& invocation) {
  auto options = std::make_shared<StartOptions>();
  StartOptions& o = *options;
  CommandLine* command =
      queue.add_subcommand("start", "Start the queue's daemon: yours, or root's for all users");
  command->add_flag("--all-users", o.everybody, "As root: take jobs of all users, and run each as its user");
  command->add_option("-d,--device", o.devices, "GPUs to use: 0,1 or UUIDs (default: all)")
      ->delimiter(',')
      ->option_text("GPU,…");
  command
      ->add_option("--policy", o.policy,
                   "Who starts when: plimsoll (default), exclusive, naive, carma, best-fit, packing, "
                   "dot-product, fragmentation")
      ->offers(kPolicies)
      ->option_text("NAME");
  command
      ->add_option("--sharing", o.sharing,
                   "How jobs share a GPU: auto (default: MPS where it is installed), exclusive, naive, mps")
      ->one_of({"auto", "exclusive", "naive", "mps"})
      ->option_text("WAY");
  command
      ->add_option("--ui", o.page,
                   "Serve the dashboard, too, at this port of 127.0.0.1, to you and root alone")
      ->in_range(1, 65535)
      ->option_text("PORT");
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
  // As the script of an allocation has them (queue/slurm/pool.cpp).
  command->add_flag("--allocation", o.slurm.wanted, "Inside an allocation of Slurm's")->group("");
  command->add_option("--allocations", o.slurm.allocations, "Of its pool at a time")
      ->in_range<std::int64_t>(1, 10'000)
      ->option_text("N")
      ->group("");
  command->add_option("--allocation-gpus", o.allocation_gpus, "Of each")
      ->in_range(1, 1024)
      ->option_text("N")
      ->group("");
  command->add_option("--notice", o.slurm.notice, "Before the end of its time")
      ->option_text("TIME")
      ->group("");
  command->add_option("--log", o.slurm.log, "What allocations print")->option_text("FILE")->group("");
  command->add_option("--slurm-option", o.slurm.options, "Of sbatch, for another allocation")
      ->allow_extra_args(false)
      ->option_text("OPTION")
      ->group("");
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

}  // namespace plimsoll
