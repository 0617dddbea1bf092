#include "queue/daemon.hpp"

#include <algorithm>
#include <csignal>
#include <thread>

#include <fmt/format.h>

#include "base/own_children.hpp"
#include "base/process.hpp"
#include "base/text.hpp"
#include "queue/daemon_state.hpp"
#include "run/lease.hpp"
#include "run/provenance.hpp"
#include "store/timestamp.hpp"

namespace plimsoll::queue {

using std::chrono::milliseconds;

namespace {

constexpr milliseconds kRefresh{1000};
constexpr milliseconds kLookAtMachine{2000};
constexpr milliseconds kWatch{1000};
constexpr milliseconds kLongestWait{500};
// What it takes to end a command, and to renew in time on a busy machine.
constexpr Seconds kShortestLease{10};

milliseconds part_of(Seconds lease, double part) {
  return milliseconds(static_cast<std::int64_t>(1000 * lease.value() * part));
}

/// Short, since sockets stand in a folder of that name: the end of a UUID, in which GPUs, and slices of one,
/// differ.
constexpr unsigned kMostAtOnce = 8;  // threads, for a moment: what runs needs its cores

std::string short_name(const std::string& uuid) {
  constexpr std::size_t kEnough = 12;
  return uuid.size() <= kEnough ? uuid : uuid.substr(uuid.size() - kEnough);
}

}  // namespace

PlanningRoom::PlanningRoom(Oracle& told_by)
    : oracle(told_by),
      setups{{.way = share::Way::exclusive},
             {.way = share::Way::naive},
             {.way = share::Way::mps},
             {.way = share::Way::naive, .clients = true}},
      rates(
          [this](std::span<const std::uint32_t> kinds, std::size_t setup) {
            std::vector<std::string> named;
            for (const std::uint32_t kind : kinds) named.push_back(keys[kind]);
            return oracle.together(named, setups[setup]);
          },
          std::min(kMostAtOnce, std::thread::hardware_concurrency())) {}

Daemon::Daemon(const DaemonOptions& options, Oracle& oracle, running::SignalSource signals, Door door)
    : options_(options),
      signals_(std::move(signals)),
      door_(std::move(door)),
      planning_(std::make_shared<PlanningRoom>(oracle)) {}

Daemon::~Daemon() = default;

void Daemon::say(const std::string& line) const {
  if (options_.say) options_.say(line);
}

Result<int> Daemon::run() {
  open();
  while (!failure_ && !(stopping_ && (!ending_all_ || live_.empty()))) {
    serve();
    if (opened_) tend();
  }
  if (options_.ends_when_idle)  // nobody else is left in the allocation
    for (QueueGpu& gpu : gpus_)
      if (gpu.mps) gpu.mps->end_with_this();
  if (failure_) return std::unexpected(*std::move(failure_));
  return exit_code_;
}

void Daemon::open() {
  errands_.send("nvml", "asking the driver for the GPUs", [this]() -> running::Errands::Then {
    auto opened = nvml::open();
    const std::string why = opened ? std::string() : opened.error().text();
    std::shared_ptr<nvml::Library> nvml;
    if (opened) nvml = *std::move(opened);
    const running::Host host = running::look_at_host(nvml.get());
    return [this, nvml, host, why] {
      if (host.gpus.empty()) {
        failure_ =
            Error{fmt::format("there is no GPU for a queue to share{}{}", why.empty() ? "" : ": ", why),
                  {},
                  {},
                  Error::Kind::machine_lacks};
        return;
      }
      open_machine(nvml, host);
    };
  });
  errands_.send(kStoreLane, "opening the store", [this, where = options_.store]() -> running::Errands::Then {
    auto opened = std::make_shared<Result<std::unique_ptr<store::Store>>>(store::open(where));
    return [this, opened] {
      if (!*opened) {
        failure_ = opened->error();
        return;
      }
      std::shared_ptr<store::Store> store = *std::move(*opened);
      // Only where others can take the jobs must an attempt end with its lease.
      leased_ = options_.ends_when_idle || store->location().starts_with("postgres");
      if (leased_ && options_.lease < kShortestLease) {
        failure_ = Error{fmt::format("a lease of {:.0f} s is too short: {:.0f} s at least",
                                     options_.lease.value(), kShortestLease.value()),
                         "--lease"};
        return;
      }
      ledger_ = std::make_unique<Ledger>(std::move(store), errands_, options_.pool);
      renew_claim();
    };
  });
}

void Daemon::open_machine(std::shared_ptr<nvml::Library> nvml, running::Host host) {
  nvml_ = std::move(nvml);
  host_ = std::move(host);
  auto chosen =
      options_.devices.empty()
          ? Result<std::vector<running::ChosenDevice>>(running::visible_devices(nvml_.get(), std::nullopt))
          : running::choose_devices(nvml_.get(), options_.devices);
  if (!chosen) {
    failure_ = std::move(chosen).error();
    return;
  }
  const bool has_mps = find_program("nvidia-cuda-mps-control").has_value();
  const QueueSharing sharing = options_.sharing != QueueSharing::automatic ? options_.sharing
                               : options_.policy == "exclusive"            ? QueueSharing::exclusive
                               : options_.policy == "naive" || !has_mps    ? QueueSharing::naive
                                                                           : QueueSharing::mps;
  std::vector<unsigned> numbers;
  for (const running::ChosenDevice& device : *chosen) {
    QueueGpu gpu{.device = device};
    gpu.number = device.number  ? device.number
                 : device.slice ? std::optional(device.slice->parent)
                                : std::nullopt;
    gpu.name = device.slice    ? fmt::format("slice {}:{}", device.slice->parent, device.slice->number)
               : device.number ? fmt::format("GPU {}", *device.number)
                               : device.uuid;
    gpu.total = device.total.value_or(Bytes());
    if (options_.allocation)
      gpu.total = Bytes(static_cast<std::int64_t>(static_cast<double>(gpu.total.count()) *
                                                  options_.allocation->memory_share()));
    gpu.setup = sharing == QueueSharing::exclusive ? kExclusiveSetup
                : sharing == QueueSharing::naive   ? kNaiveSetup
                                                   : kMpsSetup;
    if (gpu.setup == kMpsSetup)
      gpu.mps = std::make_unique<MpsKeeper>(options_.place.runtime / "mps" / short_name(device.uuid), device);
    gpu.for_one_process = gpu.number && nvml_ && nvml_->is_for_one_process(*gpu.number);
    if (device.number) numbers.push_back(*device.number);
    gpu.changed = Clock::now();
    gpus_.push_back(std::move(gpu));
  }
  activity_ = std::make_unique<RecentActivity>(nvml_.get(), numbers);
  idle_since_ = Clock::now();
  tend_mps();
  look_at_machine();
  opened_ = ledger_ && claim_;
}

bool Daemon::may_act() const {
  return claim_ && running::BootClock::of_machine().now() < claim_until_ && !gpus_.empty() && ledger_ &&
         ledger_->is_loaded();
}

/// Nothing runs, and nothing is being changed.
bool Daemon::is_idle() {
  return live_.empty() &&
         std::ranges::none_of(ledger_->jobs(), [](const auto& entry) { return entry.second.busy; });
}

/// One wait for whatever comes first, and what follows from it.
void Daemon::serve() {
  running::Interests interests;
  interests.push_back({signals_.descriptor(), POLLIN, [this] { take_signals(); }});
  interests.push_back({errands_.descriptor(), POLLIN, [this] { errands_.deliver(); }});
  door_.collect(interests);
  for (auto& [number, attempt] : live_)
    if (attempt.client && attempt.client->is_open())
      interests.push_back({attempt.client->descriptor(), POLLIN, [this, number = number] {
                             if (const auto found = live_.find(number); found != live_.end())
                               hear(found->second);
                           }});
  std::vector<pollfd> descriptors;
  descriptors.reserve(interests.size());
  for (const running::Interest& interest : interests)
    descriptors.push_back({interest.descriptor, interest.events, 0});
  ::poll(descriptors.data(), descriptors.size(), static_cast<int>(kLongestWait.count()));
  for (std::size_t i = 0; i < descriptors.size(); ++i)
    if (descriptors[i].revents != 0) interests[i].act();
  take_requests();
}

void Daemon::tend() {
  const auto now = Clock::now();
  if (now >= renew_at_) renew_claim();
  if (now >= refresh_at_) refresh();
  if (now >= look_at_) look_at_machine();
  if (now >= judge_at_) judge_other_hosts();
  for (auto& [number, attempt] : live_)
    if (attempt.stage == LiveAttempt::Stage::unwatched && !attempt.looking && now >= attempt.look_again)
      look_at(attempt);
  follow_up();
  settle_ends();
  std::erase_if(parting_, [](running::SupervisorClient& client) { return client.leave(); });
  tend_mps();
  end_jobs_inside();
  attend();
  if (now >= watch_at_) {
    watch_at_ = now + kWatch;
    watch_speeds();
    if (options_.policy == "carma") dirty_ = true;  // what it looks at changes by itself
  }
  proceed_with_moves();
  if (!may_act() || stopping_) return;
  // Time itself changes who comes first, and what is still being learned.
  if (now >= plan_again_) dirty_ = true;
  if (dirty_ && !planning_now_) find_beliefs();
  if (now >= rests_until_) plan();
  leave_when_done();
}

void Daemon::take_signals() {
  for (const int signal : signals_.take()) {
    if (signal == SIGCHLD) {
      static_cast<void>(reap_strangers());
      continue;
    }
    if (take_lent_signal(signal)) continue;
    if (signal != SIGTERM && signal != SIGINT && signal != SIGHUP) continue;
    stopping_ = true;
    say(live_.empty()
            ? "it ends"
            : fmt::format("it ends; {} job{} on", live_.size(), live_.size() == 1 ? " goes" : "s go"));
  }
}

// The store

store::ClaimWish Daemon::claim_wish(const std::string& host) const {
  const std::string holder =
      fmt::format("{} {}", running::ProcessSpace::here().machine_id, options_.place.home.string());
  return {.name = "queue/" + host, .holder = holder.substr(0, 250), .lease = part_of(options_.lease, 1)};
}

void Daemon::renew_claim() {
  if (renewing_ || !ledger_) return;
  renewing_ = true;
  renew_at_ = Clock::now() + part_of(options_.lease, 0.25);
  errands_.send(
      kLeaseLane, "renewing the queue's lease",
      [this, store = ledger_->store(), wish = claim_wish(options_.host)]() -> running::Errands::Then {
        const Seconds asked_at = running::BootClock::of_machine().now();
        auto answer = store->claims().take(wish);
        return [this, answer = std::move(answer), asked_at] { take_claim(answer, asked_at); };
      });
}

void Daemon::take_claim(const Result<store::ClaimAnswer>& answer, Seconds asked_at) {
  renewing_ = false;
  if (!answer) {
    if (!claim_) say(fmt::format("the store does not answer: {}", answer.error().text()));
    return;
  }
  if (!answer->held) {
    if (claim_ || claim_until_ == Seconds())
      say(fmt::format("another daemon holds the queue of {}: {}", options_.host, answer->claim.holder));
    if (!opened_)
      failure_ = Error{fmt::format("another daemon holds the queue of {}", options_.host),
                       {},
                       "Give this one another name by --host, or end the other.",
                       Error::Kind::unavailable};
    claim_.reset();
    return;
  }
  claim_ = answer->claim;
  // By this machine's clock, from when it was asked: earlier than the store's own end.
  claim_until_ = asked_at + options_.lease;
  if (leased_) write_leases(claim_until_);
  opened_ = !gpus_.empty();
}

void Daemon::write_leases(Seconds until) {
  std::vector<std::filesystem::path> folders;
  for (const auto& [number, attempt] : live_)
    if (attempt.stage != LiveAttempt::Stage::ended && !attempt.folder.empty() &&
        !has_moved_on(ledger_->find(number), attempt))
      folders.push_back(attempt.folder);
  if (folders.empty()) return;
  errands_.send("leases", "writing leases", [this, folders, until]() -> running::Errands::Then {
    const running::Lease lease{.boot = running::BootClock::of_machine().boot(), .until = until};
    std::string wrong;
    for (const std::filesystem::path& folder : folders)
      if (const Status written = running::write_lease(folder, lease); !written)
        wrong = written.error().text();
    return [this, wrong] {
      if (!wrong.empty()) say("a lease cannot be written: " + wrong);
    };
  });
}

void Daemon::refresh() {
  refresh_at_ = Clock::now() + kRefresh;
  ledger_->refresh([this](bool news) {
    dirty_ = dirty_ || news;
    if (!ledger_->is_loaded()) return;
    for (auto& [number, job] : ledger_->jobs()) {
      const bool ours = job.row.host == options_.host;
      const bool goes_on =
          job.row.state == store::QueueState::starting || job.row.state == store::QueueState::running;
      if (ours && goes_on && !job.busy && !live_.contains(number)) adopt(job);
      // Somebody who does not talk to this daemon may have cancelled it, in the store.
      if (const auto live = live_.find(number);
          live != live_.end() && job.notes.cancelled && !live->second.stop_asked)
        ask_to_stop(live->second);
    }
    if (news) std::erase_if(waits_, [&](const auto& entry) { return ledger_->has_ended(entry.first); });
  });
}

/// Jobs on machines whose daemons are gone. Whether one is, is judged by this machine's own clock: a lease
/// that nobody has renewed for as long as it lasts. Then it is taken, so that the other, should it come back,
/// renews nothing: by then its supervisors have ended what they ran.
void Daemon::judge_other_hosts() {
  judge_at_ = Clock::now() + part_of(options_.lease, 0.25);
  if (judging_ || !may_act()) return;
  std::set<std::string> hosts;
  for (const auto& [number, job] : ledger_->jobs())
    if (is_elsewhere(job)) hosts.insert(job.row.host);
  std::erase_if(other_hosts_, [&](const auto& entry) { return !hosts.contains(entry.first); });
  if (hosts.empty()) return;
  judging_ = true;
  errands_.send(kStoreLane, "asking who holds the queues of other machines",
                [this, store = ledger_->store(), hosts]() -> running::Errands::Then {
                  const Seconds asked_at = running::BootClock::of_machine().now();
                  std::map<std::string, std::optional<store::Claim>> found;
                  for (const std::string& host : hosts)
                    if (auto claim = store->claims().held("queue/" + host))
                      found.emplace(host, *std::move(claim));
                  return [this, found = std::move(found), asked_at] {
                    judging_ = false;
                    for (const auto& [host, claim] : found) judge(host, claim, asked_at);
                  };
                });
}

bool Daemon::is_elsewhere(const LedgerJob& job) const {
  const bool goes_on =
      job.row.state == store::QueueState::starting || job.row.state == store::QueueState::running;
  return goes_on && !job.row.host.empty() && job.row.host != options_.host;
}

void Daemon::judge(const std::string& host, const std::optional<store::Claim>& claim, Seconds asked_at) {
  const OtherHost seen{.term = claim ? claim->term : 0, .until = claim ? claim->until : 0, .since = asked_at};
  const auto [known, is_new] = other_hosts_.try_emplace(host, seen);
  if (known->second.term != seen.term || known->second.until != seen.until) known->second = seen;
  if (claim && !claim->expired) return;
  Seconds longest;
  for (const auto& [number, job] : ledger_->jobs())
    if (is_elsewhere(job) && job.row.host == host)
      longest = std::max(longest, read_place(job.row.place).lease);
  if (longest <= Seconds() || asked_at < known->second.since + longest) return;
  errands_.send(kStoreLane, "taking over from another machine",
                [this, store = ledger_->store(), host, wish = claim_wish(host),
                 allocation = options_.allocation]() -> running::Errands::Then {
                  auto answer = store->claims().take(wish);
                  const bool cancelled =
                      answer && answer->held && allocation && allocation->was_cancelled(host);
                  return [this, host, cancelled, answer = std::move(answer)] {
                    if (answer && answer->held) take_over(host, answer->claim, cancelled);
                  };
                });
}

void Daemon::take_over(const std::string& host, const store::Claim& claim, bool cancelled) {
  other_hosts_.erase(host);
  say(fmt::format("machine {} is gone; its jobs are taken over", host));
  std::vector<std::int64_t> numbers;
  for (const auto& [number, job] : ledger_->jobs())
    // What has no lease may still run there: only its own daemon can tell.
    if (is_elsewhere(job) && job.row.host == host && !job.busy && read_place(job.row.place).lease > Seconds())
      numbers.push_back(number);
  const auto left = std::make_shared<std::size_t>(numbers.size() + 1);
  const auto release = [this, left, claim] {
    if (--*left > 0) return;
    errands_.send(kStoreLane, "giving another machine's queue back",
                  [store = ledger_->store(), claim]() -> running::Errands::Then {
                    static_cast<void>(store->claims().release(claim));
                    return {};
                  });
  };
  for (const std::int64_t number : numbers) {
    const LedgerJob& job = *ledger_->find(number);
    JobNotes notes = job.notes;
    notes.cancelled = notes.cancelled || cancelled;
    const NextStep next = next_step(job.request, notes, {.saved = job.notes.saved});
    const std::string reason = fmt::format("its machine {} is gone; {}", host, next.reason);
    store::QueueChange change{.state = next.again ? store::QueueState::waiting : store::QueueState::ended,
                              .notes = notes_text(next.notes)};
    if (!next.again) {
      change.outcome = next.outcome;
      change.reason = reason;
      change.ended = store::now();
    }
    ledger_->change(number, std::move(change),
                    {.host = options_.host, .kind = next.again ? "again" : "end", .reason = reason}, claim,
                    [this, release](Ledger::Done) {
                      dirty_ = true;
                      release();
                    });
  }
  release();
}

// The machine

void Daemon::look_at_machine() {
  look_at_ = Clock::now() + kLookAtMachine;
  if (looking_ || gpus_.empty()) return;
  looking_ = true;
  std::vector<running::KnownRun> known;
  for (const auto& [number, attempt] : live_)
    if (!attempt.run.empty()) known.push_back({attempt.run, 0});
  errands_.send("nvml", "asking the driver who uses the GPUs",
                [this, nvml = nvml_, known]() -> running::Errands::Then {
                  const running::Host host = running::look_at_host(nvml.get(), known);
                  return [this, host, known] {
                    looking_ = false;
                    host_ = host;
                    std::set<std::string> ours;
                    for (const running::KnownRun& run : known) ours.insert(run.id);
                    for (QueueGpu& gpu : gpus_) {
                      const bool used = !on(gpu.device.uuid).empty();
                      const auto look = [&](const std::optional<nvml::Memory>& memory,
                                            const std::vector<running::Occupant>& occupants) {
                        if (!memory) return;
                        Bytes theirs = memory->used - memory->reserved.value_or(Bytes());
                        bool told = true;
                        for (const running::Occupant& occupant : occupants) {
                          if (!ours.contains(occupant.run)) continue;
                          if (!occupant.used) told = false;
                          theirs = theirs - occupant.used.value_or(Bytes());
                        }
                        // Where the driver does not tell whose memory it is, what others hold was seen when
                        // nobody of the queue was there.
                        if (!used || (told && host.pids_are_known)) gpu.others = std::max(Bytes(), theirs);
                        if (gpu.total == Bytes()) gpu.total = memory->total;
                      };
                      for (const running::Gpu& of : host.gpus) {
                        if (of.uuid == gpu.device.uuid) look(of.memory, of.occupants);
                        for (const running::MigSlice& slice : of.slices)
                          if (slice.uuid == gpu.device.uuid) look(slice.memory, slice.occupants);
                      }
                    }
                  };
                });
}

QueueGpu* Daemon::gpu_of(const std::string& uuid) {
  const auto found =
      std::ranges::find_if(gpus_, [&](const QueueGpu& gpu) { return gpu.device.uuid == uuid; });
  return found == gpus_.end() ? nullptr : &*found;
}

std::vector<LiveAttempt*> Daemon::on(const std::string& uuid) {
  std::vector<LiveAttempt*> out;
  for (auto& [number, attempt] : live_)
    if (attempt.stage != LiveAttempt::Stage::ended &&
        std::ranges::find(attempt.devices, uuid) != attempt.devices.end())
      out.push_back(&attempt);
  return out;
}

Result<int> run_daemon(const DaemonOptions& options, Oracle& oracle, running::SignalSource signals) {
  // One daemon for one home; the lock goes with the process, however it ends.
  const auto lock = running::FileLock::of_file(options.place.home / "daemon.lock", milliseconds(0));
  if (!lock)
    return std::unexpected(Error{"a daemon of this queue runs already", options.place.home.string(),
                                 "`plimsoll queue` shows what it does.", Error::Kind::exists_already});
  auto door = Door::open(options.place.socket(), options.everybody);
  PLIMSOLL_TRY(door);
  Daemon daemon(options, oracle, std::move(signals), *std::move(door));
  auto code = daemon.run();
  std::error_code ignored;
  std::filesystem::remove(options.place.socket(), ignored);
  return code;
}

}  // namespace plimsoll::queue
