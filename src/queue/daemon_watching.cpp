#include <algorithm>

#include <fmt/format.h>

#include "queue/daemon_state.hpp"
#include "store/timestamp.hpp"

namespace plimsoll::queue {
namespace {

using Stage = LiveAttempt::Stage;
using std::chrono::milliseconds;

constexpr double kSteady = 10;               // s without anybody coming or going, before a group is judged
constexpr milliseconds kSilentFrom{60'000};  // without a step, after which none is waited for
constexpr double kLeastGain = 0.03;          // of a job's speed, that one more should add

}  // namespace

/// What those on a GPU really do, against what was promised. What was measured is believed from then on;
/// where somebody is slower than promised and the last who came adds nothing, that one is moved, if it can
/// be.
void Daemon::watch_speeds() {
  if (options_.policy != "plimsoll") return;
  for (QueueGpu& gpu : gpus_) {
    const double steady = std::chrono::duration<double>(Clock::now() - gpu.changed).count();
    const std::vector<LiveAttempt*> there = on(gpu.device.uuid);
    if (there.size() < 2 || steady < kSteady) continue;
    struct One {
      LiveAttempt* attempt;
      std::uint32_t kind;
      double speed;
    };
    std::vector<One> group;
    for (LiveAttempt* attempt : there) {
      const LedgerJob* job = ledger_->find(attempt->job);
      if (job == nullptr || !attempt->lesson || attempt->stage != Stage::running) break;
      const auto belief = beliefs_.find(job->belief_key);
      if (belief == beliefs_.end()) break;
      double speed = 1;  // of a service: it answers what it is asked
      const double alone = belief->second.steps_per_second.value_or(0);
      const bool is_silent = !attempt->lesson->has_stepped() && Clock::now() > attempt->since + kSilentFrom;
      if (!belief->second.kind.serves && (alone <= 0 || is_silent)) {
        speed = attempt->speed;  // nobody can tell: the others are judged all the same
      } else if (!belief->second.kind.serves) {
        const auto seen = speed_lately(*job, *attempt, steady - 1);
        if (!seen) break;
        speed = *seen;
      }
      group.push_back({attempt, static_cast<std::uint32_t>(kind_of(belief->second)), speed});
    }
    if (group.size() < there.size()) continue;
    std::ranges::sort(group, {}, &One::kind);
    const bool slow = std::ranges::any_of(group, [](const One& one) { return one.speed < one.attempt->low; });
    LiveAttempt* newest = nullptr;
    for (const One& one : group) {
      const LedgerJob* job = ledger_->find(one.attempt->job);
      if (!job->request.save || job->notes.moves >= job->request.most_moves || one.attempt->saves_by)
        continue;
      if (newest == nullptr || one.attempt->since > newest->since) newest = one.attempt;
    }
    std::vector<std::uint32_t> kinds;
    plan::schedule::GroupRates measured;
    bool keeps = true;
    for (const One& one : group) {
      kinds.push_back(one.kind);
      measured.speeds.push_back(one.speed);
      keeps = keeps && one.speed >= ledger_->find(one.attempt->job)->request.keep;
    }
    std::vector<std::uint32_t> without;
    if ((slow || !keeps) && newest != nullptr)
      for (const One& one : group)
        if (one.attempt != newest) without.push_back(one.kind);
    const std::int64_t mover = newest == nullptr ? 0 : newest->job;
    gpu.changed = Clock::now();  // judged; again after as long
    errands_.send(
        "plan", "comparing what was promised",
        [this, room = planning_, keys = keys_of_kinds(), kinds, measured, without, mover, keeps,
         setup = setup_now(gpu)]() mutable -> running::Errands::Then {
          room->keys = keys;
          measured.watts = room->rates.of(kinds, setup).watts;
          measured.allowed = room->rates.of(kinds, setup).allowed && keeps;
          room->rates.set(kinds, setup, measured);
          if (without.empty()) return {};
          const double gain = measured.combined() - room->rates.of(without, setup).combined();
          if (gain >= kLeastGain && keeps) return {};
          return [this, mover, gain, keeps] {
            begin_move(
                mover,
                keeps ? fmt::format(
                            "those on its GPU are slower than promised, and it adds {:.2f} of a job's speed",
                            gain)
                      : std::string("somebody on its GPU is left less of his speed than he wants to keep"));
          };
        });
  }
}

/// Asks a job to save; what it answers is waited for.
void Daemon::begin_move(std::int64_t number, const std::string& reason) {
  const auto found = live_.find(number);
  LedgerJob* const job = ledger_->find(number);
  if (found == live_.end() || job == nullptr || !job->request.save || found->second.stage != Stage::running ||
      found->second.saves_by || !found->second.client)
    return;
  LiveAttempt& attempt = found->second;
  attempt.answered = false;
  attempt.moves_because = reason;
  attempt.saves_by =
      Clock::now() + milliseconds(static_cast<std::int64_t>(1000 * job->request.save_patience.value()));
  attempt.client->send_signal(*job->request.save);
  say(fmt::format("job {} is asked to save: {}", number, reason));
}

/// Those that have saved are stopped, and wait for another place; those that do not answer stay.
void Daemon::proceed_with_moves() {
  for (auto& [number, attempt] : live_) {
    if (!attempt.saves_by || attempt.stop_asked || attempt.stage != Stage::running) continue;
    LedgerJob* const job = ledger_->find(number);
    if (job == nullptr || job->busy) continue;
    if (!attempt.answered) {
      if (Clock::now() < *attempt.saves_by) continue;
      attempt.saves_by.reset();
      ledger_->change(number, {.notes = notes_text(job->notes)},
                      {.host = options_.host,
                       .kind = "stay",
                       .reason = "it was asked to save, and did not answer in time"},
                      claim_, [](Ledger::Done) {});
      continue;
    }
    JobNotes notes = job->notes;
    notes.saved = notes.moving = true;
    attempt.stop_asked = true;
    ledger_->change(number, {.notes = notes_text(notes)},
                    {.host = options_.host,
                     .kind = "move",
                     .reason = fmt::format("{}; it saved {}", attempt.moves_because, attempt.saved_text)},
                    claim_, [this, number = number](Ledger::Done done) {
                      const auto found = live_.find(number);
                      if (found == live_.end()) return;
                      if (done == Ledger::Done::yes) return ask_to_stop(found->second);
                      found->second.stop_asked = false;
                    });
  }
}

void Daemon::tend_mps() {
  for (QueueGpu& gpu : gpus_) {
    if (!gpu.mps) continue;
    if (gpu.mps_answers && gpu.mps->lives()) continue;
    if (gpu.mps_answers) {
      gpu.mps_answers = false;
      gpu.mps_fell = Clock::now();
      say(fmt::format("the MPS daemon of {} has ended; another is started when its clients are gone",
                      gpu.name));
    }
    if (gpu.mps_asked) continue;
    const bool lived = gpu.mps->lives();
    if (!lived && !on(gpu.device.uuid).empty() && gpu.mps->generation() > 0)
      continue;  // its clients will fail
    if (const Status started = gpu.mps->ensure(); !started) {
      gpu.trouble = started.error().text();
      continue;
    }
    gpu.mps_asked = true;
    errands_.send("mps " + gpu.name, "waiting for an MPS daemon",
                  [this, uuid = gpu.device.uuid, place = gpu.mps->place()]() -> running::Errands::Then {
                    const Status answers = wait_for_mps(place);
                    return [this, uuid, answers] {
                      QueueGpu* const of = gpu_of(uuid);
                      of->mps_asked = false;
                      of->mps_answers = answers.has_value();
                      of->trouble = answers ? std::string() : answers.error().text();
                      dirty_ = true;
                    };
                  });
  }
}

}  // namespace plimsoll::queue
