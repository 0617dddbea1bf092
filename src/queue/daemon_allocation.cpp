#include <algorithm>
#include <csignal>

#include <fmt/format.h>

#include "queue/daemon_state.hpp"

// A daemon inside an allocation that somebody else's scheduler gave, and takes away again.
namespace plimsoll::queue {
namespace {

using std::chrono::milliseconds;
using store::QueueState;

constexpr milliseconds kTellEvery{1000};
constexpr milliseconds kAskEvery{20'000};    // for the time that is left
constexpr milliseconds kWantsAfter{5000};    // that jobs wait, before another allocation is asked for
constexpr milliseconds kNearItsEnd{10'000};  // of the allocation's time: who ends it then is the scheduler
constexpr std::size_t kMostLeftTold = 100;
constexpr double kMostForUnknown = 0.5;  // of an allocation's whole time

double seconds_of(Clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

bool Daemon::take_lent_signal(int signal) {
  if (!options_.ends_when_idle) return false;
  if (signal == SIGUSR1) {
    if (!std::exchange(time_is_up_, true))
      say("the allocation's time is nearly up: what can save is saved, and waits for another");
    return true;
  }
  if (signal != SIGTERM && signal != SIGINT && signal != SIGHUP) return false;
  if (std::exchange(ending_all_, true)) return true;  // the scheduler kills what is left
  const bool in_time = time_is_up_ && (!time_ends_ || Clock::now() + kNearItsEnd >= *time_ends_);
  if (in_time) {
    say("the allocation's time is up");
  } else {
    // Somebody ended the allocation, and so all that is inside: nothing of it is run again.
    cancelled_from_outside_ = stopping_ = true;
    say(fmt::format("the allocation is ended, and with it {} job{}", live_.size(),
                    live_.size() == 1 ? "" : "s"));
  }
  return true;
}

/// What an allocation's end does to the jobs inside, as often as it takes.
void Daemon::end_jobs_inside() {
  if (!options_.ends_when_idle) return;
  for (auto& [number, attempt] : live_) {
    LedgerJob* const job = ledger_->find(number);
    if (job == nullptr || attempt.stage == LiveAttempt::Stage::ended) continue;
    if (time_is_up_ && !ending_all_ && !attempt.asked_for_time &&
        attempt.stage == LiveAttempt::Stage::running) {
      attempt.asked_for_time = true;
      begin_move(number, "the allocation's time is nearly up");
    }
    if (!ending_all_) continue;
    // Kept first: should this daemon be killed before the job has ended, others know that it is cancelled.
    if (cancelled_from_outside_ && !job->notes.cancelled && !job->busy) {
      JobNotes notes = job->notes;
      notes.cancelled = true;
      ledger_->change(number, {.notes = notes_text(notes)},
                      {.host = options_.host, .kind = "cancel", .reason = "its allocation was ended"}, claim_,
                      [](Ledger::Done) {});
    }
    if (!attempt.stop_asked) ask_to_stop(attempt);
  }
}

/// A job that cannot save, and must not run twice, needs its whole time; of what nobody knows half of an
/// allocation's is enough.
std::string Daemon::no_time_for(const LedgerJob& job, const Belief& belief) const {
  if (!options_.ends_when_idle || !time_ends_ || !whole_time_) return {};
  const double left = seconds_of(*time_ends_ - Clock::now());
  if (job.request.save || job.request.rerun) return {};
  if (!belief.seconds)
    return left < kMostForUnknown * whole_time_->value()
               ? "nobody knows how long it takes, and less than half of the allocation's time is left"
               : std::string();
  const double takes = belief.startup.value_or(0) + *belief.seconds;
  if (takes <= left) return {};
  return fmt::format("it takes {:.0f} s, and {:.0f} s are left of the allocation's time", takes,
                     std::max(0.0, left));
}

/// Those that could start in an allocation, were there another with its whole time.
std::set<std::int64_t> Daemon::waiting_for_an_allocation() const {
  std::set<std::int64_t> out;
  for (const auto& [number, job] : ledger_->jobs()) {
    if (job.row.state != QueueState::waiting || live_.contains(number) || job.busy) continue;
    if (!job.fault.empty() || !not_ready(job).empty() || !is_mine(job)) continue;
    const auto belief = beliefs_.find(job.belief_key);
    const bool never_ends_in_time = belief != beliefs_.end() && belief->second.seconds && whole_time_ &&
                                    !job.request.save && !job.request.rerun &&
                                    *belief->second.seconds > whole_time_->value();
    if (!never_ends_in_time) out.insert(number);
  }
  return out;
}

/// The store may be shared: others' jobs are never run as this user.
bool Daemon::is_mine(const LedgerJob& job) const {
  return !options_.ends_when_idle || job.row.user == fmt::format("{}", ::geteuid());
}

Inside Daemon::inside_now() {
  Inside out;
  for (const auto& [number, attempt] : live_)
    if (attempt.stage != LiveAttempt::Stage::ended) {
      const LedgerJob* job = ledger_->find(number);
      out.running.emplace_back(number, job == nullptr ? "" : job->row.name);
    }
  out.waiting = waiting_for_an_allocation().size();
  out.ending = time_is_up_ || stopping_ || leaving_.has_value();
  const auto now = Clock::now();
  if (out.waiting == 0 || stopping_ || (live_.empty() && !time_is_up_)) {
    wants_since_.reset();
  } else if (!wants_since_) {
    wants_since_ = now;
  }
  // One in which nothing could start asks for no other, or there would be no end of them.
  out.wants_more = has_started_any_ && wants_since_ && (time_is_up_ || now - *wants_since_ >= kWantsAfter);
  return out;
}

void Daemon::attend() {
  if (!options_.allocation || attending_ || !ledger_ || !ledger_->is_loaded()) return;
  const auto now = Clock::now();
  if (now < attend_at_) return;
  const Inside inside = inside_now();
  if (told_ && *told_ == inside && now < ask_at_) return;
  attending_ = true;
  attend_at_ = now + kTellEvery;
  ask_at_ = now + kAskEvery;
  errands_.send("allocation", "telling the scheduler what is inside",
                [this, allocation = options_.allocation, inside, now]() -> running::Errands::Then {
                  const AllocationNews news = allocation->attend(inside);
                  return [this, inside, news, now] {
                    attending_ = false;
                    told_ = inside;
                    for (const std::string& line : news.said) say(line);
                    time_ends_.reset();
                    dirty_ = true;
                    if (!news.left) return;
                    if (!whole_time_) whole_time_ = *news.left;
                    time_ends_ = now + milliseconds(static_cast<std::int64_t>(1000 * news.left->value()));
                  };
                });
}

/// Nobody has looked yet whether something that waits can.
bool Daemon::may_still_start() {
  const bool mps_starts = std::ranges::any_of(
      gpus_, [](const QueueGpu& gpu) { return gpu.mps && !gpu.mps_answers && gpu.trouble.empty(); });
  if (dirty_ || believing_ || planning_now_ || mps_starts) return true;
  return std::ranges::any_of(ledger_->jobs(), [this](const auto& entry) {
    const LedgerJob& job = entry.second;
    return job.row.state == QueueState::waiting && job.fault.empty() && !beliefs_.contains(job.belief_key);
  });
}

/// Whoever waits without a daemon is told why by its decisions. Whether there is anybody to be told.
bool Daemon::tell_who_is_left() {
  bool told = false;
  for (const auto& [number, job] : ledger_->jobs()) {
    const auto why = waits_.find(number);
    if (job.row.state != QueueState::waiting || job.busy || why == waits_.end() || why->second.empty())
      continue;
    if (left_waiting_.size() >= kMostLeftTold || !left_waiting_.insert(number).second) continue;
    told = true;
    ledger_->change(
        number, {.notes = notes_text(job.notes)},
        {.host = options_.host,
         .kind = "wait",
         .reason = fmt::format("it could not start in this allocation, which ends: {}", why->second)},
        claim_, [](Ledger::Done) {});
  }
  return told;
}

/// An allocation that is not used is given back. Who submitted before it was told that this one takes no more
/// jobs is found by looking once more afterwards; who submits later asks for another.
void Daemon::leave_when_done() {
  if (!options_.ends_when_idle || stopping_) return;
  const auto now = Clock::now();
  if (!is_idle()) idle_since_ = now;
  // Planning once more, as it always does, is no reason to stay; a job that starts is.
  const bool is_over =
      seconds_of(now - idle_since_) > options_.ends_when_idle->value() && (leaving_ || !may_still_start());
  const bool done = time_is_up_ ? live_.empty() : is_over;
  if (!done) {
    leaving_.reset();
    looked_again_ = looking_again_ = false;
    return;
  }
  if (!leaving_) {
    if (!time_is_up_ && tell_who_is_left()) return;
    leaving_ = waiting_for_an_allocation();
    return;
  }
  if (options_.allocation && (attending_ || !told_ || !told_->ending)) return;
  if (!looked_again_) {
    if (looking_again_ || ledger_->is_refreshing()) return;
    looking_again_ = true;
    ledger_->refresh([this](bool /*news*/) {
      looked_again_ = ledger_->was_answered();
      looking_again_ = false;
    });
    return;
  }
  const std::set<std::int64_t> waiting = waiting_for_an_allocation();
  const bool somebody_came = !std::ranges::includes(*leaving_, waiting);
  if (somebody_came && !time_is_up_) {
    idle_since_ = now;
    return;
  }
  // With its time up, those that came are another allocation's, which has been asked for by then.
  if (options_.allocation && time_is_up_ && *told_ != inside_now()) return;
  say(time_is_up_ ? "it ends with the allocation's time" : "nothing is left to do");
  stopping_ = true;
}

}  // namespace plimsoll::queue
