#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <unistd.h>

#include "queue/daemon_state.hpp"
#include "queue/turns.hpp"

namespace plimsoll::queue {
namespace {

using std::chrono::milliseconds;
using store::QueueState;

constexpr std::size_t kBeliefsAtOnce = 200;
constexpr double kAgeing = 600;     // s of waiting that count as one of priority
constexpr double kStarving = 1800;  // s of being first in line, after which a place is kept for it
constexpr double kHurry = 1.5;      // of its length, before its deadline, from which a job hurries
constexpr milliseconds kForecastEvery{2000};
constexpr milliseconds kPlanAgain{2000};
constexpr double kLately = 5;  // s, by whose steps the speed of one that runs is told

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace

/// What is believed of jobs is asked for once for each kind of them: profiles in the store's lane, then the
/// oracle.
void Daemon::find_beliefs() {
  if (believing_) return;
  struct Wanted {
    std::string key, print;
    JobRequest request;
    std::optional<Bytes> need;
  };
  std::vector<Wanted> wanted;
  std::set<std::string> keys;
  for (const auto& [number, job] : ledger_->jobs()) {
    if (!job.fault.empty() || wanted.size() >= kBeliefsAtOnce) continue;
    std::string key = job.belief_key;
    if (beliefs_.contains(key) || wrong_.contains(number) || !keys.insert(key).second) continue;
    wanted.push_back({std::move(key), job.print, job.request, job.notes.need});
  }
  if (wanted.empty()) return;
  believing_ = true;
  errands_.send(kStoreLane, "asking for what was learned",
                [this, wanted, store = ledger_->store()]() -> running::Errands::Then {
                  std::vector<std::string> prints;
                  for (const Wanted& one : wanted) prints.push_back(one.print);
                  auto known = store->queue().profiles(prints);
                  if (!known) return [this] { believing_ = false; };
                  return [this, wanted, known = *std::move(known)] {
                    std::map<std::string, Profile> profiles = profiles_;
                    for (const auto& [print, text] : known)
                      if (auto profile = read_profile(text); profile && !profiles.contains(print))
                        profiles.emplace(print, *profile);
                    for (const auto& [print, profile] : profiles) profiles_.try_emplace(print, profile);
                    errands_.send("plan", "estimating jobs",
                                  [this, wanted, profiles, room = planning_]() -> running::Errands::Then {
                                    std::map<std::string, Result<Belief>> found;
                                    for (const Wanted& one : wanted) {
                                      const auto profile = profiles.find(one.print);
                                      found.emplace(one.key,
                                                    room->oracle.belief(one.request,
                                                                        profile == profiles.end()
                                                                            ? std::nullopt
                                                                            : std::optional(profile->second),
                                                                        one.need));
                                    }
                                    return [this, found = std::move(found)] {
                                      believing_ = false;
                                      dirty_ = true;
                                      for (const auto& [key, belief] : found) {
                                        if (belief) {
                                          beliefs_.insert_or_assign(key, *belief);
                                          continue;
                                        }
                                        // One that says nonsense of itself is still a command: it is learned
                                        // like one that says nothing.
                                        Belief unknown;
                                        unknown.key = key;
                                        unknown.source = belief.error().text();
                                        beliefs_.insert_or_assign(key, unknown);
                                      }
                                    };
                                  });
                  };
                });
}

std::size_t Daemon::kind_of(const Belief& belief) {
  const auto [found, is_new] = kind_by_key_.emplace(belief.key, kinds_.size());
  if (!is_new) {
    if (belief.seen) seen_[found->second] = belief.seen;  // a run has come to its end since
    return found->second;
  }
  kinds_.push_back(belief.kind);
  seen_.push_back(belief.seen);
  return found->second;
}

/// As they are given to the planning lane with each question: it knows no kind without.
std::vector<std::string> Daemon::keys_of_kinds() const {
  std::vector<std::string> out(kinds_.size());
  for (const auto& [key, kind] : kind_by_key_) out[kind] = key;
  return out;
}

std::string Daemon::not_ready(const LedgerJob& job) const {
  if (const auto rests = resting_.find(job.row.number);
      rests != resting_.end() && Clock::now() < rests->second)
    return "its supervisor refused to start it; it is tried again in a moment";
  if (!options_.everybody && job.row.user != fmt::format("{}", ::geteuid()))
    return "it is another user's, and this daemon runs only its own user's jobs";
  if (job.row.state == QueueState::held) return "it is held: `plimsoll release` lets it go on";
  for (const std::int64_t before : job.row.after)
    if (!ledger_->has_ended(before)) return fmt::format("it waits for job {}", before);
  return {};
}

/// Who has waited for long comes before who has just come, whatever would gain more; deadlines come before
/// both.
double Daemon::rank_of(const LedgerJob& job) const {
  const double now = unix_now();
  const double waited = std::max(0.0, now - static_cast<double>(job.row.submitted) * 1e-6);
  double rank = job.row.priority + std::floor(waited / kAgeing);
  if (job.request.deadline) {
    const auto belief = beliefs_.find(job.belief_key);
    const double length =
        belief != beliefs_.end() ? belief->second.seconds.value_or(kUnknownLength) : kUnknownLength;
    if (*job.request.deadline - now < kHurry * length && *job.request.deadline > now) rank += kHurrying;
  }
  return rank;
}

/// Who has been first in line for long, by age and priority and not by its hurry, comes before all others.
void Daemon::find_starving(Question& question) {
  const auto first = first_in_line(question);
  const std::int64_t number = first ? question.waiting[*first].number : 0;
  if (number != std::exchange(first_number_, number)) first_since_ = Clock::now();
  if (first && seconds_between(first_since_, Clock::now()) > kStarving) question.starving = first;
}

/// How the jobs that are on it share it.
std::size_t Daemon::setup_now(const QueueGpu& gpu) {
  const bool is_mixed =
      gpu.setup == kMpsSetup &&
      std::ranges::any_of(on(gpu.device.uuid), [](const auto* one) { return one->sharing == "naive"; });
  return is_mixed ? kMixedSetup : gpu.setup;
}

/// Who is no client of MPS any more can be beside its clients only where the GPU takes several processes.
bool Daemon::runs_alone(const LedgerJob& job) const {
  return job.request.alone || job.notes.alone ||
         (job.notes.apart && std::ranges::any_of(gpus_, &QueueGpu::for_one_process));
}

/// Of programs that ran here: what one is expected to take of which nobody knows it.
double Daemon::usual_startup() const {
  std::vector<double> known;
  for (const auto& [print, profile] : profiles_)
    if (profile.startup) known.push_back(*profile.startup);
  if (known.empty()) return 0;
  const auto middle = known.begin() + static_cast<std::ptrdiff_t>(known.size() / 2);
  std::ranges::nth_element(known, middle);
  return *middle;
}

/// Against alone, by its steps.
std::optional<double> Daemon::speed_lately(const LedgerJob& job, const LiveAttempt& attempt,
                                           double seconds) const {
  const auto belief = beliefs_.find(job.belief_key);
  if (belief == beliefs_.end() || belief->second.steps_per_second.value_or(0) <= 0 || !attempt.lesson)
    return std::nullopt;
  const auto pace = attempt.lesson->pace_since(unix_now() - seconds);
  return pace ? std::optional(*pace / *belief->second.steps_per_second) : std::nullopt;
}

Question Daemon::question_now() {
  Question out{.now = seconds_between(Clock::time_point(), Clock::now()),
               .policy = options_.policy,
               .setups = planning_->setups};
  const double usual_startup = this->usual_startup();
  std::map<std::string, std::size_t> place_of;
  for (QueueGpu& gpu : gpus_) {
    PlaceNow place{.name = gpu.name,
                   .device = gpu.device.uuid,
                   .setup = setup_now(gpu),
                   .memory = std::max(Bytes(), gpu.total - gpu.others)};
    if (gpu.setup == kMpsSetup && !gpu.mps_answers)
      place.closed = gpu.trouble.empty() ? "its MPS daemon is starting" : gpu.trouble;
    place_of.emplace(gpu.device.uuid, out.places.size());
    out.places.push_back(std::move(place));
  }
  for (const auto& [number, attempt] : live_) {
    if (attempt.stage == LiveAttempt::Stage::ended && !attempt.end) continue;
    const LedgerJob* job = ledger_->find(number);
    if (job == nullptr) continue;
    RunningNow running{.number = number, .alone = attempt.sharing == "alone", .user = job->row.user};
    for (const std::string& device : attempt.devices)
      if (const auto found = place_of.find(device); found != place_of.end())
        running.places.push_back(found->second);
    if (running.places.empty()) continue;
    const auto belief = beliefs_.find(job->belief_key);
    Belief unknown;
    unknown.key = "job " + std::to_string(number);
    const Belief& believed = belief == beliefs_.end() ? unknown : belief->second;
    running.kind = kind_of(believed);
    running.is_known = believed.seconds.has_value();
    const double length = believed.seconds.value_or(kUnknownLength);
    const double whole = believed.steps_per_second ? length * *believed.steps_per_second : 0;
    const auto done = attempt.lesson ? attempt.lesson->steps_done() : std::nullopt;
    const double passed = seconds_between(attempt.since, Clock::now());
    const double startup = believed.startup.value_or(usual_startup);
    running.startup = done ? 0 : std::max(0.0, startup - passed);
    running.speed = speed_lately(*job, attempt, kLately).value_or(0);
    running.left = done && whole > 0
                       ? std::max(0.5, (whole - *done) / *believed.steps_per_second)
                       : std::max(0.5, length - std::max(0.0, passed - startup) * attempt.speed);
    // What nobody knew is learned undisturbed: nobody comes beside it for its first seconds of work.
    if (!believed.is_known && !(attempt.lesson && attempt.lesson->is_learned()) && passed < 60)
      for (const std::size_t place : running.places)
        if (out.places[place].closed.empty())
          out.places[place].closed = fmt::format("job {} is being learned", number);
    out.running.push_back(std::move(running));
  }
  for (auto& [number, job] : ledger_->jobs()) {
    if (job.row.state != QueueState::waiting && job.row.state != QueueState::held) continue;
    if (live_.contains(number)) continue;
    std::string why = !job.fault.empty() ? job.fault : not_ready(job);
    if (why.empty() && !is_mine(job)) why = "it is another user's";
    const auto belief = beliefs_.find(job.belief_key);
    if (why.empty() && belief == beliefs_.end()) why = "it is being estimated";
    if (why.empty()) why = no_time_for(job, belief->second);
    if (!why.empty() || job.busy) {
      waits_[number] = why;
      continue;
    }
    WaitingNow waiting{.number = number,
                       .kind = kind_of(belief->second),
                       .seconds = belief->second.seconds.value_or(kUnknownLength),
                       .is_known = belief->second.seconds.has_value(),
                       .startup = belief->second.startup.value_or(usual_startup),
                       .rank = rank_of(job),
                       .arrival = static_cast<double>(job.row.submitted) * 1e-6,
                       .deadline = {},
                       .gpus = job.request.gpus,
                       .alone = runs_alone(job),
                       .user = job.row.user,
                       .may_be_saved = job.request.save.has_value()};
    out.waiting.push_back(std::move(waiting));
  }
  out.kinds = kinds_;
  out.seen = seen_;
  if (options_.everybody) take_turns(out.waiting, out.running);
  for (auto& [number, why] : keep_to_limit(out.waiting, out.running, options_.most_per_user))
    waits_[number] = why;
  find_starving(out);
  if (activity_) {
    activity_->refresh();
    std::vector<plan::schedule::View::Activity> seen;
    for (const QueueGpu& gpu : gpus_) {
      plan::schedule::View::Activity activity =
          gpu.number ? activity_->of(*gpu.number) : plan::schedule::View::Activity();
      // A gate looks at what was measured: nothing of a newcomer is, before its window is over.
      constexpr double kWindow = 5;
      if (options_.policy == "carma" && seconds_between(gpu.changed, Clock::now()) < kWindow &&
          !on(gpu.device.uuid).empty())
        activity = {.sms = 1, .occupancy = 1, .bandwidth = 1};
      seen.push_back(activity);
    }
    out.activity = [seen](std::size_t place) { return seen[place]; };
  }
  return out;
}

void Daemon::plan() {
  if (!dirty_ || planning_now_ || time_is_up_) return;
  dirty_ = false;
  plan_again_ = Clock::now() + kPlanAgain;
  auto question = std::make_shared<Question>(question_now());
  if (question->waiting.empty()) return;
  planning_now_ = true;
  errands_.send("plan", "deciding what starts",
                [this, question, keys = keys_of_kinds(), room = planning_]() -> running::Errands::Then {
                  room->keys = keys;
                  auto answer = std::make_shared<Answer>(decide(*question, room->rates));
                  return [this, answer] {
                    planning_now_ = false;
                    take_answer(*answer);
                  };
                });
}

void Daemon::take_answer(const Answer& answer) {
  for (const auto& [number, why] : answer.waits) waits_[number] = why;
  if (!may_act() || stopping_) return;
  for (const Chosen& chosen : answer.starts) {
    const LedgerJob* job = ledger_->find(chosen.number);
    if (job == nullptr || job->busy || job->row.state != QueueState::waiting || live_.contains(chosen.number))
      continue;
    waits_.erase(chosen.number);
    start(chosen.number, chosen);
  }
}

/// Calls `then` once `expected_` is of the last seconds. Of very many jobs nothing is foretold.
void Daemon::with_forecast(std::function<void()> then) {
  const auto now = Clock::now();
  if (forecasting_) {
    after_forecast_.push_back(std::move(then));
    return;
  }
  if (now < forecast_at_ || !may_act()) return then();
  forecast_at_ = now + kForecastEvery;
  auto question = std::make_shared<Question>(question_now());
  if (question->running.size() + question->waiting.size() > kMostForecast) {
    expected_.clear();
    return then();
  }
  forecasting_ = true;
  after_forecast_.push_back(std::move(then));
  errands_.send("plan", "looking ahead",
                [this, question, keys = keys_of_kinds(), room = planning_]() -> running::Errands::Then {
                  room->keys = keys;
                  auto expected =
                      std::make_shared<std::map<std::int64_t, Expected>>(forecast(*question, room->rates));
                  return [this, expected] {
                    forecasting_ = false;
                    expected_ = std::move(*expected);
                    for (const std::function<void()>& one : std::exchange(after_forecast_, {})) one();
                  };
                });
}

}  // namespace plimsoll::queue
