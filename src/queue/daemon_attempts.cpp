#include <algorithm>
#include <csignal>
#include <thread>

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.hpp"
#include "queue/daemon_state.hpp"
#include "queue/submitted.hpp"
#include "run/attempt_folder.hpp"
#include "run/lease.hpp"
#include "run/supervision.hpp"
#include "store/timestamp.hpp"

namespace plimsoll::queue {
namespace {

using Stage = LiveAttempt::Stage;
using std::chrono::milliseconds;
namespace fs = std::filesystem;

constexpr milliseconds kLookAgain{250};
constexpr milliseconds kRestOfJob{1000};  // doubled with each time that its supervisor refused
constexpr milliseconds kRest{2000};
constexpr double kGraceOfLease = 0.2;
// Clients of an MPS daemon that fall together tell it one after the other: each when it next asks the GPU.
constexpr milliseconds kFallTogether{4000};
constexpr milliseconds kMostFallTogether{60'000};
// A step that is told so long after a fault was done after it.
constexpr milliseconds kToldLate{2000};
constexpr double kStragglers = 30;  // s

/// What a prediction may be off by, among several, before somebody has been slower than promised.
double least_of(double promised) {
  constexpr double kOff = 0.3;
  return promised * (1 - kOff);
}

/// Processes of a run. Its number is what the folder's owner wrote there: only that user's are meant.
std::vector<pid_t> processes_of(const std::string& run, uid_t owner) {
  std::vector<pid_t> out;
  for (const auto& process : running::processes_with(fmt::format("{}={}", running::kRunVariable, run))) {
    struct stat facts{};
    if (::stat(fmt::format("/proc/{}", process.pid).c_str(), &facts) == 0 && facts.st_uid == owner)
      out.push_back(process.pid);
  }
  return out;
}

/// All of a run's processes, ended and gone: nobody watches them any more.
bool end_stragglers(const std::string& run, const fs::path& folder) {
  struct stat facts{};
  if (run.empty() || ::stat(folder.c_str(), &facts) != 0) return true;
  const auto until = Clock::now() + milliseconds(static_cast<int>(1000 * kStragglers));
  for (auto left = processes_of(run, facts.st_uid); !left.empty(); left = processes_of(run, facts.st_uid)) {
    if (Clock::now() > until) return false;
    for (const pid_t process : left) ::kill(process, SIGKILL);
    std::this_thread::sleep_for(milliseconds(20));
  }
  return true;
}

Result<running::Attempt::User> user_numbered(const std::string& text) {
  const auto number = static_cast<uid_t>(std::strtoul(text.c_str(), nullptr, 10));
  std::array<char, 16384> buffer;  // filled by getpwuid_r
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(number, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr)
    return fail("there is no user {}", text);
  running::Attempt::User out{.user = number, .group = entry.pw_gid};
  int count = 256;
  std::vector<gid_t> groups(static_cast<std::size_t>(count));
  if (::getgrouplist(entry.pw_name, entry.pw_gid, groups.data(), &count) < 0)
    return fail("user {} has too many groups", text);
  groups.resize(static_cast<std::size_t>(count));
  out.groups = std::move(groups);
  return out;
}

milliseconds in_milliseconds(Seconds seconds) {
  return milliseconds(static_cast<std::int64_t>(1000 * seconds.value()));
}

/// Of a supervisor's message; it is the job's user's, and may say anything.
std::string told_text(const job::Json& message, const char* key) {
  const auto found = message.find(key);
  return found == message.end() ? std::string() : job::text_of(*found).value_or("");
}

fs::path folder_of(const fs::path& home, const store::QueueJob& row) {
  return home / "attempts" / fmt::format("{}.{}", row.number, row.attempt);
}

Status make_folder(const fs::path& folder, const std::optional<running::Attempt::User>& user) {
  std::error_code failed;
  fs::create_directories(folder.parent_path(), failed);
  if (user) ::chmod(folder.parent_path().c_str(), 0711);
  if (failed || ::mkdir(folder.c_str(), 0700) != 0 ||
      (user && ::chown(folder.c_str(), user->user, user->group) != 0))
    return std::unexpected(
        Error{"cannot make the folder of an attempt", folder.string(), {}, Error::Kind::machine_lacks});
  return {};
}

}  // namespace

/// Nothing is started for a moment: where something of the machine, or the store, is in the way, all jobs
/// would be tried for nothing.
void Daemon::rest(const std::string& why) {
  rests_until_ = Clock::now() + kRest;
  rests_because_ = why;
  dirty_ = true;
}

/// A change was refused, perhaps since the lease has run out by the store's clock; or the store is away.
void Daemon::note_undone(Ledger::Done done) {
  if (done == Ledger::Done::no) renew_at_ = {};
  if (done == Ledger::Done::unknown) rest("the store does not answer");
}

/// The store is told first: who is in its state `starting` may have a command anywhere.
void Daemon::start(std::int64_t number, const Chosen& chosen) {
  LedgerJob& job = *ledger_->find(number);
  resting_.erase(number);
  AttemptPlace place{.speed = chosen.speed};
  const auto found = beliefs_.find(job.belief_key);
  if (found != beliefs_.end()) place.given = found->second.kind.memory.value_or(Bytes());
  place.low = least_of(chosen.speed);
  std::string names;
  std::size_t setup = kExclusiveSetup;
  for (const std::size_t index : chosen.places) {
    const QueueGpu& gpu = gpus_[index];
    place.devices.push_back(gpu.device.uuid);
    names += (names.empty() ? "" : ", ") + gpu.name;
    setup = gpu.setup;
  }
  const bool alone = runs_alone(job) || job.request.gpus > 1 || setup == kExclusiveSetup;
  place.sharing = alone ? "alone" : setup == kNaiveSetup || job.notes.apart ? "naive" : "mps";
  place.home = options_.place.home.string();
  if (leased_ && !job.request.runs_on) place.lease = options_.lease;
  LiveAttempt attempt{.job = number,
                      .attempt = job.row.attempt + 1,
                      .devices = place.devices,
                      .sharing = place.sharing,
                      .given = place.given};
  attempt.speed = place.speed;
  attempt.low = place.low;
  attempt.since = Clock::now();
  attempt.saved = job.notes.saved;
  live_.insert_or_assign(number, std::move(attempt));
  job::Json others = job::Json::array();
  for (const auto& [other, speed] : chosen.others) {
    others.push_back({{"job", other}, {"speed", speed}});
    const auto there = live_.find(other);
    if (there == live_.end()) continue;  // from now on, that is what can be held against it
    there->second.speed = speed;
    there->second.low = least_of(speed);
  }
  store::QueueChange change{.state = store::QueueState::starting,
                            .attempt = job.row.attempt + 1,
                            .host = options_.host,
                            .place = place_text(place),
                            .run = "",
                            .started = store::now()};
  store::QueueDecision decision{
      .host = options_.host, .kind = "start", .reason = fmt::format("on {}: {}", names, chosen.reason)};
  decision.expected = job::dump({{"speed", chosen.speed}, {"combined", chosen.combined}, {"others", others}});
  ledger_->change(number, std::move(change), std::move(decision), claim_, [this, number](Ledger::Done done) {
    if (done == Ledger::Done::yes) {
      errands_.send(kStoreLane, "reading a job's environment",
                    [this, number, store = ledger_->store()]() -> running::Errands::Then {
                      auto text = store->queue().environment(number);
                      return [this, number, text = std::move(text)] {
                        if (!live_.contains(number)) return;
                        if (text) return launch(number, *text);
                        live_.erase(number);  // the row says `starting`: it is found again, and undone
                      };
                    });
      return;
    }
    // Where nobody knows whether it was done, the row tells when the store answers again.
    live_.erase(number);
    note_undone(done);
    dirty_ = true;
  });
}

void Daemon::launch(std::int64_t number, const std::string& environment) {
  LedgerJob* const job = ledger_->find(number);
  LiveAttempt& attempt = live_.at(number);
  if (job == nullptr) {
    live_.erase(number);
    return;
  }
  const auto refuse = [&](const std::string& why) {
    AttemptEnd end;
    end.ended = running::Ended{.outcome = running::Outcome::failed, .reason = why};
    end_attempt(attempt, std::move(end));
  };
  // A full disk, or too many processes: that is no job's fault, and no job's end.
  const auto give_up = [&](const Error& error) {
    say(fmt::format("job {} cannot be started: {}", number, error.text()));
    rest(error.text());
    end_attempt(attempt, {.began = false});
  };
  if (!is_ours(*job, attempt)) return static_cast<void>(live_.erase(number));
  attempt.folder = folder_of(options_.place.home, job->row);
  std::optional<running::Attempt::User> user;
  if (options_.everybody) {
    auto found = user_numbered(job->row.user);
    if (!found) return refuse(found.error().text());
    user = *std::move(found);
  }
  auto variables = read_environment(environment);
  if (!variables) return refuse(variables.error().text());
  if (const Status made = make_folder(attempt.folder, user); !made) return give_up(made.error());
  if (leased_) {
    // Without it the supervisor would count its patience from its own start, which is later.
    const running::Lease lease{.boot = running::BootClock::of_machine().boot(), .until = claim_until_};
    if (const Status written = running::write_lease(attempt.folder, lease); !written)
      return give_up(written.error());
  }
  running::Order order;
  running::JobSpec spec = job->request.job;
  spec.devices = attempt.devices;
  if (attempt.given > Bytes()) spec.need = attempt.given;
  spec.estimate = {};  // the queue has asked
  if (options_.allocation)
    for (auto& variable : options_.allocation->variables()) spec.environment.push_back(std::move(variable));
  spec.tags.emplace_back("plimsoll.queue.job", fmt::format("{}", number));
  spec.tags.emplace_back("plimsoll.queue.attempt", fmt::format("{}", job->row.attempt));
  if (attempt.sharing == "mps")
    if (const QueueGpu* gpu = gpu_of(attempt.devices.front()); gpu != nullptr && gpu->mps) {
      // A client gets no more than it was admitted with, so that nobody else runs out of memory by it.
      const std::optional<Bytes> limit =
          attempt.given > Bytes() ? std::optional(attempt.given) : std::nullopt;
      for (auto& variable : gpu->mps->place().client_variables(spec.mps_percentage, limit))
        spec.environment.push_back(std::move(variable));
      // Who answers requests comes before who trains.
      const auto belief = beliefs_.find(job->belief_key);
      const bool serves = belief != beliefs_.end() && belief->second.kind.serves;
      spec.environment.emplace_back("CUDA_MPS_CLIENT_PRIORITY", serves ? "0" : "1");
    }
  order.jobs = {std::move(spec)};
  order.options.program = options_.program;
  // It has to be gone before its lease is over, and the lease is renewed when a quarter of it has passed.
  if (leased_)
    order.options.watch.grace =
        std::min(order.options.watch.grace, in_milliseconds(options_.lease * kGraceOfLease));
  order.quiet = true;
  order.attempt = running::Attempt{.folder = attempt.folder,
                                   .leased = leased_ && !job->request.runs_on,
                                   .lease_patience = options_.lease,
                                   .user = std::move(user),
                                   .environment = *std::move(variables),
                                   .umask = static_cast<mode_t>(job->request.umask),
                                   .shared_as = attempt.sharing};
  auto client = running::SupervisorClient::launch(order);
  if (!client) {
    // Nobody knows how far it has come: its folder tells.
    rest(client.error().text());
    attempt.stage = Stage::unwatched;
    return;
  }
  attempt.client.emplace(*std::move(client));
  attempt.since = Clock::now();
  has_started_any_ = true;
  attempt.lesson.emplace(unix_now());
  note_company(attempt.devices);
}

/// Of an earlier daemon of this machine, or of this one after the store was away.
void Daemon::adopt(LedgerJob& job) {
  const AttemptPlace place = read_place(job.row.place);
  LiveAttempt attempt{
      .job = job.row.number,
      .attempt = job.row.attempt,
      .folder = folder_of(place.home.empty() ? options_.place.home : fs::path(place.home), job.row),
      .devices = place.devices,
      .sharing = place.sharing,
      .given = place.given,
      .stage = Stage::unwatched,
      .run = job.row.run};
  attempt.speed = place.speed;
  attempt.low = place.low;
  attempt.since = Clock::now();
  attempt.saved = job.notes.saved;
  live_.insert_or_assign(job.row.number, std::move(attempt));
  note_company(place.devices);
}

/// What its folder tells, beside the loop; what nobody watches any more is ended first.
void Daemon::look_at(LiveAttempt& attempt) {
  attempt.looking = true;
  errands_.send("attempts", "looking at an attempt's folder",
                [this, number = attempt.job, folder = attempt.folder,
                 is_own = is_own(attempt.folder)]() -> running::Errands::Then {
                  std::error_code ignored;
                  // A daemon makes the folder before all else, and takes it away when the store knows the
                  // end. Of one that had another home nobody knows.
                  if (!fs::exists(folder, ignored) && !ignored)
                    return [this, number, is_own] { take_facts(number, {.undone = is_own}, !is_own); };
                  auto facts =
                      std::make_shared<Result<running::AttemptFacts>>(running::look_at_attempt(folder));
                  if (*facts && !(*facts)->supervised && !(*facts)->began && !(*facts)->undone) {
                    const auto undone = running::undo_attempt(folder);
                    if (undone && *undone)
                      (*facts)->undone = true;
                    else
                      *facts = running::look_at_attempt(folder);
                  }
                  if (*facts && !(*facts)->supervised && (*facts)->began && !(*facts)->ended &&
                      !end_stragglers((*facts)->began->run, folder))
                    *facts = std::unexpected(Error{"processes of it do not end"});
                  return [this, number, facts] {
                    const auto found = live_.find(number);
                    if (found == live_.end()) return;
                    found->second.looking = false;
                    found->second.look_again = Clock::now() + kLookAgain;
                    if (*facts) take_facts(number, **facts, false);
                  };
                });
}

void Daemon::take_facts(std::int64_t number, const running::AttemptFacts& facts, bool is_lost) {
  const auto found = live_.find(number);
  if (found == live_.end()) return;
  LiveAttempt& attempt = found->second;
  attempt.looking = false;
  if (attempt.stage != Stage::unwatched) return;
  if (facts.saved) {
    attempt.saved = true;
    attempt.saved_text = kept_words(facts.saved->text);
  }
  if (facts.began) attempt.run = kept_run(facts.began->run);
  if (facts.supervised) {
    if (!facts.began) return;  // it is on its way
    // Who wrote that down may have written anything: only that user's own supervisor is listened to.
    const LedgerJob* const job = ledger_->find(number);
    if (job == nullptr) return;
    auto client = running::SupervisorClient::connect(facts.began->socket, runs_as(*job));
    if (!client) return;
    attempt.client.emplace(*std::move(client));
    attempt.stage = Stage::running;
    if (!attempt.lesson) {
      attempt.lesson.emplace(unix_now());
      note_company(attempt.devices);  // else what it does beside others is learned as what it does alone
    }
    return;
  }
  end_attempt(attempt, {.began = is_lost || facts.began || facts.ended, .ended = facts.ended});
}

void Daemon::hear(LiveAttempt& attempt) {
  const std::int64_t number = attempt.job;
  for (const job::Json& message : attempt.client->receive()) {
    take_message(attempt, message);
    if (!live_.contains(number) || attempt.stage == Stage::ended) break;
  }
  if (!live_.contains(number) || !attempt.client || attempt.client->is_open()) return;
  part_from(attempt);
  if (attempt.stage == Stage::ended) return;
  attempt.stage = Stage::unwatched;
  attempt.look_again = Clock::now();
}

/// A supervisor that has told all may still have to write its last; its process is waited for meanwhile.
void Daemon::part_from(LiveAttempt& attempt) {
  if (attempt.client) parting_.push_back(*std::move(attempt.client));
  attempt.client.reset();
}

void Daemon::take_message(LiveAttempt& attempt, const job::Json& message) {
  const std::string type = running::type_of(message);
  const std::int64_t number = attempt.job;
  LedgerJob* const job = ledger_->find(number);
  if (type == "started") {
    attempt.stage = Stage::running;
    attempt.run = kept_run(told_text(message, "run"));
  } else if (type == "progress") {
    const auto progress = running::read_progress(message);
    if (!progress) return;
    if (progress->step && (!attempt.progress || progress->step != attempt.progress->step))
      attempt.stepped = Clock::now();
    attempt.progress = *progress;
    if (!attempt.lesson) return;
    attempt.lesson->note(*progress, unix_now());
    // Others of its kind, and newcomers beside it, need not wait for its end.
    if (job == nullptr || !attempt.lesson->has_more_than(attempt.noted)) return;
    attempt.noted = attempt.lesson->extent();
    learn(*job, attempt, false);
    dirty_ = true;
  } else if (type == "saved") {
    attempt.saved = attempt.answered = true;
    attempt.saved_text = kept_words(told_text(message, "text"));
  } else if (type == "ended") {
    auto ended = running::read_ended(message);
    if (!ended) return;
    AttemptEnd end;
    end.ended = *std::move(ended);
    end_attempt(attempt, std::move(end));
  } else if (type == "failed") {
    const auto error = message.find("error");
    const Error why = error == message.end() ? Error{"it could not be started"} : running::read_error(*error);
    end_attempt(attempt, {.began = false, .refused = why.text()});
  }
}

/// What was decided of those that run, here or by another daemon, and what the store is to know of them.
void Daemon::follow_up() {
  const auto now = Clock::now();
  for (auto& [number, attempt] : live_) {
    LedgerJob* const job = ledger_->find(number);
    const bool runs = attempt.stage == Stage::running && attempt.client;
    if (has_moved_on(job, attempt)) {
      if (runs && !attempt.stop_asked) ask_to_stop(attempt);
      continue;
    }
    if (!runs || job == nullptr || job->busy || !is_ours(*job, attempt)) continue;
    const bool leaves = job->notes.cancelled || (job->notes.moving && !attempt.saves_by);
    if (leaves && !attempt.stop_asked) ask_to_stop(attempt);
    if (job->row.state != store::QueueState::starting || !may_act() || now < attempt.look_again) continue;
    attempt.look_again = now + kLookAgain;
    ledger_->change(number,
                    {.state = store::QueueState::running, .run = attempt.run, .started = store::now()}, {},
                    claim_, [this](Ledger::Done done) { note_undone(done); });
  }
}

/// The row is of this attempt, and says that it goes on.
bool Daemon::is_ours(const LedgerJob& job, const LiveAttempt& attempt) const {
  return job.row.host == options_.host && job.row.attempt == attempt.attempt &&
         (job.row.state == store::QueueState::starting || job.row.state == store::QueueState::running);
}

/// The store has concluded it: another daemon did, while this one was away.
bool Daemon::has_moved_on(const LedgerJob* job, const LiveAttempt& attempt) const {
  if (job == nullptr) return ledger_->is_loaded() && attempt.stage != Stage::launching;
  if (job->busy || job->row.attempt < attempt.attempt) return false;
  return !is_ours(*job, attempt);
}

uid_t Daemon::runs_as(const LedgerJob& job) const {
  return options_.everybody ? static_cast<uid_t>(std::strtoul(job.row.user.c_str(), nullptr, 10))
                            : ::geteuid();
}

bool Daemon::is_own(const fs::path& folder) const {
  return folder.parent_path() == options_.place.home / "attempts";
}

/// Beside the loop: what is in it is its user's, and may be much.
void Daemon::remove_folder(const fs::path& folder) {
  if (folder.empty() || !is_own(folder)) return;
  errands_.send("removal", "removing an attempt's folder", [folder]() -> running::Errands::Then {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
    return {};
  });
}

void Daemon::forget(std::int64_t number) {
  const auto found = live_.find(number);
  if (found == live_.end()) return;
  part_from(found->second);
  remove_folder(found->second.folder);
  live_.erase(found);
  if (ledger_->has_ended(number)) {
    resting_.erase(number);
    expected_.erase(number);
  }
  dirty_ = true;
}

void Daemon::end_attempt(LiveAttempt& attempt, AttemptEnd end) {
  if (attempt.stage == Stage::ended) return;
  attempt.stage = Stage::ended;
  if (end.ended) end.ended = kept_end(*std::move(end.ended));
  end.refused = kept_words(end.refused);
  if (end.ended && end.ended->outcome == running::Outcome::refused) {
    end.began = false;
    end.refused = end.ended->reason.empty() ? "its supervisor refused" : end.ended->reason;
  }
  end.saved = attempt.saved;
  end.time_was_up = time_is_up_;
  end.given = attempt.given > Bytes() ? std::optional(attempt.given) : std::nullopt;
  if (attempt.lesson) end.seen = attempt.lesson->peak();
  for (const QueueGpu& gpu : gpus_)
    if (gpu.total > Bytes()) end.largest = std::max(end.largest.value_or(Bytes()), gpu.total - gpu.others);
  if (end.ended) {
    end.gpu_fault = end.ended->gpu_fault;
    end.lease_ended = end.ended->stopped == running::StopCause::lease;
    if (end.ended->peak_gpu_bytes)
      end.seen = std::max(end.seen.value_or(Bytes()), *end.ended->peak_gpu_bytes);
  }
  attempt.fell = Clock::now();
  attempt.end = std::move(end);
  for (const std::string& device : attempt.devices)
    if (QueueGpu* gpu = gpu_of(device)) gpu->changed = Clock::now();
  note_company(attempt.devices);
}

/// Whether all beside it have fallen, too, or done a step since; or it has taken too long to find out.
bool Daemon::is_seen_who_fell(const LiveAttempt& first) {
  const auto now = Clock::now();
  if (now < first.fell + kFallTogether) return false;
  if (now >= first.fell + kMostFallTogether) return true;
  return std::ranges::all_of(live_, [&](const auto& entry) {
    const LiveAttempt& other = entry.second;
    return other.stage == Stage::ended || other.sharing != "mps" || other.devices != first.devices ||
           other.since > first.fell || other.stepped > first.fell + kToldLate;
  });
}

/// Those on a GPU whose fault ended them, together: once for all of them, since who is concluded first is
/// gone.
void Daemon::judge_fall(LiveAttempt& first) {
  if (first.fall_is_judged) return;
  std::vector<LiveAttempt*> fallen;
  for (auto& [number, attempt] : live_) {
    if (attempt.sharing != "mps" || attempt.devices != first.devices || attempt.fall_is_judged) continue;
    if (attempt.end && attempt.end->gpu_fault) fallen.push_back(&attempt);
    if (attempt.stage != Stage::ended && attempt.since <= first.fell &&
        attempt.stepped <= first.fell + kToldLate)
      attempt.is_shaken = true;
  }
  // Where the MPS daemon itself was killed, it was nobody's fault.
  QueueGpu* const gpu = gpu_of(first.devices.front());
  const bool daemon_fell =
      gpu != nullptr && gpu->mps && (!gpu->mps->lives() || gpu->mps_fell + kFallTogether > first.fell);
  for (LiveAttempt* const attempt : fallen) {
    attempt->fall_is_judged = true;
    attempt->end->others_fell = fallen.size() > 1 || daemon_fell || attempt->is_shaken;
    attempt->end->nobodys_fault = daemon_fell;
  }
}

/// Those that fell by a fault under MPS wait a moment for who falls with them; the others are concluded at
/// once.
void Daemon::settle_ends() {
  const auto now = Clock::now();
  std::vector<std::int64_t> over;
  for (auto& [number, attempt] : live_) {
    if (attempt.stage != Stage::ended || !attempt.end || now < attempt.look_again) continue;
    if (attempt.end->gpu_fault && attempt.sharing == "mps") {
      if (!attempt.fall_is_judged && !is_seen_who_fell(attempt)) continue;
      judge_fall(attempt);
    }
    over.push_back(number);
  }
  for (const std::int64_t number : over) conclude(number);
}

void Daemon::conclude(std::int64_t number) {
  LiveAttempt& attempt = live_.at(number);
  LedgerJob* const job = ledger_->find(number);
  if (has_moved_on(job, attempt)) return forget(number);
  attempt.look_again = Clock::now() + kLookAgain;
  if (job == nullptr || job->busy || attempt.looking || !is_ours(*job, attempt)) return;
  attempt.looking = true;
  const bool finished = attempt.end->ended && attempt.end->ended->outcome == running::Outcome::finished;
  learn(*job, attempt, finished);
  JobNotes notes = job->notes;
  notes.cancelled = notes.cancelled || cancelled_from_outside_;
  const NextStep next = next_step(job->request, notes, *attempt.end);
  if (next.again && next.notes.unstarted > 0)
    resting_[number] = Clock::now() + kRestOfJob * (1 << std::min(next.notes.unstarted, 10));
  store::QueueChange change{.state = next.again ? store::QueueState::waiting : store::QueueState::ended,
                            .run = attempt.run,
                            .notes = notes_text(next.notes)};
  if (!next.again) {
    change.outcome = next.outcome;
    change.reason = next.reason;
    change.ended = store::now();
  }
  store::QueueDecision decision{.host = options_.host,
                                .kind = next.again ? "again" : "end",
                                .reason = next.reason.empty() ? next.outcome : next.reason};
  ledger_->change(number, std::move(change), std::move(decision), claim_, [this, number](Ledger::Done done) {
    const auto found = live_.find(number);
    if (found == live_.end()) return;
    found->second.looking = false;
    found->second.look_again = Clock::now() + kLookAgain;
    note_undone(done);
    if (done == Ledger::Done::yes || has_moved_on(ledger_->find(number), found->second)) forget(number);
  });
}

void Daemon::learn(const LedgerJob& job, const LiveAttempt& attempt, bool finished) {
  if (!attempt.lesson) return;
  const std::string& print = job.print;
  Profile& known = profiles_[print];
  Profile learned = attempt.lesson->learned(known, finished);
  if (!attempt.run.empty() && learned.steps_per_second != known.steps_per_second) learned.run = attempt.run;
  if (attempt.end && attempt.end->seen)
    learned.peak = std::max(learned.peak.value_or(Bytes()), *attempt.end->seen);
  if (learned == known) return;
  known = learned;
  std::erase_if(beliefs_, [&](const auto& entry) { return entry.first.starts_with(print); });
  errands_.send(kStoreLane, "keeping what was learned",
                [store = ledger_->store(), print, text = profile_text(learned)]() -> running::Errands::Then {
                  static_cast<void>(store->queue().keep_profile(print, text));
                  return {};
                });
}

void Daemon::note_company(const std::vector<std::string>& devices) {
  for (const std::string& device : devices) {
    const std::vector<LiveAttempt*> there = on(device);
    for (LiveAttempt* attempt : there)
      if (attempt->lesson) attempt->lesson->note_company(unix_now(), there.size() == 1);
    if (QueueGpu* gpu = gpu_of(device)) gpu->changed = Clock::now();
  }
}

void Daemon::ask_to_stop(LiveAttempt& attempt) {
  if (!attempt.client || attempt.run.empty()) return;  // when it has started
  attempt.stop_asked = true;
  attempt.client->send({{"type", "stop"}, {"run", attempt.run}});
}

}  // namespace plimsoll::queue
