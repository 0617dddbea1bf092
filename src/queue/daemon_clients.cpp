#include <algorithm>

#include <fmt/format.h>
#include <unistd.h>

#include "base/printable.hpp"
#include "queue/daemon_state.hpp"
#include "queue/submitted.hpp"
#include "run/supervision.hpp"
#include "store/timestamp.hpp"

namespace plimsoll::queue {
namespace {

using job::Json;
using store::QueueState;

constexpr std::size_t kMostListed = 10'000;
constexpr std::size_t kMostEnded = 200;
constexpr std::size_t kMostDecisions = 1000;
constexpr std::size_t kMostOfOneUser = 200'000;
constexpr std::size_t kMostBytesOfOneUser = std::size_t{512} << 20;  // of what open jobs ask for
constexpr std::size_t kMostBytesArriving = std::size_t{512} << 20;   // of one user, on their way to the store
constexpr std::size_t kMostDry = 1000;

std::vector<std::int64_t> numbers_of(const Json& message) {
  std::vector<std::int64_t> out;
  const auto found = message.find("numbers");
  if (found == message.end() || !found->is_array()) return out;
  for (const Json& item : *found)
    if (const auto number = job::whole_of(item)) out.push_back(*number);
  return out;
}

}  // namespace

bool Daemon::may_touch(const LedgerJob& job, uid_t user) const {
  return user == 0 || job.row.user == fmt::format("{}", user);
}

void Daemon::take_requests() {
  for (const Asked& asked : door_.take()) obey(asked);
}

void Daemon::obey(const Asked& asked) {
  const std::string type = running::type_of(asked.message);
  if (type == "stop") {
    if (asked.user != ::geteuid() && asked.user != 0)
      return door_.answer(asked.client, failure_json(Error{"the daemon is another user's"}));
    stopping_ = true;
    return door_.answer(asked.client, {{"type", "stopping"}, {"running", live_.size()}});
  }
  if (!ledger_ || !ledger_->is_loaded())
    return door_.answer(
        asked.client,
        failure_json({"the queue is not open yet", {}, "Try again in a moment.", Error::Kind::unavailable}));
  if (type == "submit") return submit(asked);
  if (type == "dry") return submit_dry(asked);
  if (type == "list") return once_known(numbers_of(asked.message), [this, asked] { list(asked); });
  if (type == "cancel" || type == "hold" || type == "release" || type == "move" || type == "priority")
    return once_known(numbers_of(asked.message), [this, asked] { change_jobs(asked); });
  if (type == "decisions") return decisions(asked);
  door_.answer(asked.client, failure_json(Error{fmt::format("the queue does not know {}", quote(type))}));
}

/// Root may give a user's own daemon jobs: they are that user's.
uid_t Daemon::owner_for(const Asked& asked) const {
  return options_.everybody ? asked.user : ::geteuid();
}

void Daemon::submit(const Asked& asked) {
  auto submitted = read_submitted(asked.message, owner_for(asked), options_.pool, true);
  if (!submitted) return door_.answer(asked.client, failure_json(submitted.error()));
  const std::string user = fmt::format("{}", owner_for(asked));
  const std::size_t bytes = submitted->bytes();
  Ledger::Held held = ledger_->held_by(user);
  Ledger::Held& arriving = arriving_[user];
  if (held.jobs + arriving.jobs + submitted->jobs.size() > kMostOfOneUser || held.bytes > kMostBytesOfOneUser)
    return door_.answer(
        asked.client,
        failure_json({fmt::format("{} jobs of yours are in the queue, and it takes {}, of {} "
                                  "MiB together",
                                  held.jobs + arriving.jobs, kMostOfOneUser, kMostBytesOfOneUser >> 20U),
                      {},
                      "Submit these when some have ended."}));
  if (arriving.bytes > 0 && arriving.bytes + bytes > kMostBytesArriving)
    return door_.answer(asked.client, failure_json({"what you have submitted before is still being kept",
                                                    {},
                                                    "Try again in a moment.",
                                                    Error::Kind::unavailable}));
  arriving.jobs += submitted->jobs.size();
  arriving.bytes += bytes;
  submissions_.push_back({asked.client, *std::move(submitted)});
  keep_submissions();
}

void Daemon::note_arrived(const Arrived& arrived) {
  const auto found = arriving_.find(arrived.submitted.jobs.front().user);
  if (found == arriving_.end()) return;
  found->second.jobs -= arrived.submitted.jobs.size();
  found->second.bytes -= arrived.submitted.bytes();
  if (found->second.jobs == 0) arriving_.erase(found);
}

/// All that have come while the store was busy with those before: a disk flushes once for them.
void Daemon::keep_submissions() {
  if (submitting_ || submissions_.empty()) return;
  submitting_ = true;
  auto taken = std::make_shared<std::vector<Arrived>>(std::exchange(submissions_, {}));
  errands_.send(
      kStoreLane, "keeping submissions", [this, taken, store = ledger_->store()]() -> running::Errands::Then {
        std::vector<store::QueueSubmission> all;
        for (const Arrived& one : *taken) all.push_back({one.submitted.jobs, one.submitted.token});
        auto answers = store->queue().submit_all(all);
        return [this, taken, answers = std::move(answers)] {
          submitting_ = false;
          for (const Arrived& one : *taken) note_arrived(one);
          for (std::size_t i = 0; i < taken->size(); ++i) {
            const Error* const wrong = !answers         ? &answers.error()
                                       : !(*answers)[i] ? &(*answers)[i].error()
                                                        : nullptr;
            door_.answer((*taken)[i].client, wrong != nullptr
                                                 ? failure_json(*wrong)
                                                 : Json{{"type", "submitted"}, {"numbers", *(*answers)[i]}});
          }
          refresh_at_ = {};
          keep_submissions();
        };
      });
}

/// Where, when, beside whom, and what it costs the others: the future with it and without.
void Daemon::submit_dry(const Asked& asked) {
  const auto submitted = read_submitted(asked.message, owner_for(asked), options_.pool, false);
  if (!submitted) return door_.answer(asked.client, failure_json(submitted.error()));
  if (submitted->jobs.size() > kMostDry)
    return door_.answer(asked.client,
                        failure_json(Error{fmt::format("at most {} jobs are tried at once", kMostDry)}));
  std::vector<Tried> requests;
  for (const store::NewQueueJob& job : submitted->jobs)
    if (auto request = read_request(Json::parse(job.request, nullptr, false))) {
      Tried one{.request = *std::move(request), .priority = job.priority};
      if (job.state == QueueState::held) one.waits = "it is held: `plimsoll release` lets it go on";
      for (const std::int64_t before : job.after)
        if (before < 0)
          one.waits = fmt::format("it waits for job {} of this submission", -before);
        else if (!ledger_->has_ended(before))
          one.waits = fmt::format("it waits for job {}", before);
      requests.push_back(std::move(one));
    }
  // What was learned of them may be in the store alone.
  const std::string user = fmt::format("{}", owner_for(asked));
  std::vector<std::string> prints;
  for (const Tried& one : requests) prints.push_back(user + "/" + fingerprint_of(one.request));
  errands_.send(kStoreLane, "asking for what was learned",
                [this, asked, requests = std::move(requests), prints,
                 store = ledger_->store()]() mutable -> running::Errands::Then {
                  auto known = store->queue().profiles(prints);
                  return [this, asked, requests = std::move(requests), prints,
                          known = std::move(known)]() mutable {
                    std::map<std::string, Profile> profiles;
                    if (known)
                      for (const auto& [print, text] : *known)
                        if (auto profile = read_profile(text)) profiles.emplace(print, *profile);
                    for (const std::string& print : prints)
                      if (const auto here = profiles_.find(print); here != profiles_.end())
                        profiles.insert_or_assign(print, here->second);
                    foretell(asked, std::move(requests), std::move(profiles));
                  };
                });
}

void Daemon::foretell(const Asked& asked, std::vector<Tried> requests,
                      std::map<std::string, Profile> profiles) {
  auto question = std::make_shared<Question>(question_now());
  question->starving.reset();
  // Of very many jobs nothing is foretold: nothing could be decided meanwhile.
  const bool looks_ahead = question->running.size() + question->waiting.size() <= kMostForecast;
  const std::string user = fmt::format("{}", owner_for(asked));
  const double arrival =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  errands_.send("plan", "looking ahead with a job more",
                [this, client = asked.client, question, requests = std::move(requests),
                 keys = keys_of_kinds(), user, arrival, profiles = std::move(profiles), looks_ahead,
                 usual_startup = usual_startup(), room = planning_]() mutable -> running::Errands::Then {
                  room->keys = keys;
                  // What is only tried has the number of a kind that another will have: nothing of it is
                  // kept.
                  plan::schedule::Rates rates = room->rates;
                  const auto ahead = [&] {
                    return looks_ahead ? forecast(*question, rates) : std::map<std::int64_t, Expected>();
                  };
                  const auto before = ahead();
                  std::int64_t number = 0;
                  std::string wrong;
                  Json mine = Json::array();
                  std::vector<Belief> beliefs;
                  for (const auto& [request, priority, waits] : requests) {
                    const auto profile = profiles.find(user + "/" + fingerprint_of(request));
                    auto belief = room->oracle.belief(
                        request, profile == profiles.end() ? std::nullopt : std::optional(profile->second),
                        std::nullopt);
                    if (!belief) {
                      wrong = belief.error().text();
                      break;
                    }
                    auto known = std::ranges::find(room->keys, belief->key);
                    const auto kind = static_cast<std::size_t>(known - room->keys.begin());
                    if (known == room->keys.end()) {
                      room->keys.push_back(belief->key);
                      question->kinds.push_back(belief->kind);
                      question->seen.push_back(belief->seen);
                    }
                    beliefs.push_back(*belief);
                    --number;
                    if (!waits.empty()) continue;
                    question->waiting.push_back({.number = number,
                                                 .kind = kind,
                                                 .seconds = belief->seconds.value_or(kUnknownLength),
                                                 .is_known = belief->seconds.has_value(),
                                                 .startup = belief->startup.value_or(usual_startup),
                                                 .rank = priority,
                                                 .arrival = arrival,
                                                 .gpus = request.gpus,
                                                 .alone = request.alone,
                                                 .user = user});
                  }
                  Json answer{{"type", "expected"}};
                  if (wrong.empty()) {
                    const Answer now = decide(*question, rates);
                    const auto after = ahead();
                    for (std::int64_t i = -1; i >= number; --i) {
                      const Belief& belief = beliefs[static_cast<std::size_t>(-i - 1)];
                      Json one{{"source", belief.source}};
                      if (belief.kind.memory) one["memory_bytes"] = belief.kind.memory->count();
                      if (belief.seconds) one["alone_seconds"] = *belief.seconds;
                      if (const auto expected = after.find(i); expected != after.end()) {
                        if (expected->second.starts) one["start_seconds"] = expected->second.start;
                        if (expected->second.ends) one["end_seconds"] = expected->second.end;
                      }
                      for (const Chosen& chosen : now.starts)
                        if (chosen.number == i) {
                          one["place"] = question->places[chosen.places.front()].name;
                          one["speed"] = chosen.speed;
                          one["reason"] = chosen.reason;
                          Json beside = Json::array();
                          for (const auto& [other, speed] : chosen.others)
                            if (other > 0) beside.push_back({{"job", other}, {"speed", speed}});
                          one["beside"] = beside;
                        }
                      if (const auto why = now.waits.find(i); why != now.waits.end())
                        one["waits"] = why->second;
                      if (const std::string& why = requests[static_cast<std::size_t>(-i - 1)].waits;
                          !why.empty())
                        one["waits"] = why;
                      mine.push_back(std::move(one));
                    }
                    answer["jobs"] = mine;
                    Json others = Json::array();
                    for (const auto& [other, expected] : after)
                      if (const auto was = before.find(other);
                          was != before.end() && other > 0 && expected.ends && was->second.ends)
                        others.push_back({{"job", other},
                                          {"end_seconds", expected.end},
                                          {"later_seconds", expected.end - was->second.end}});
                    answer["others"] = others;
                  }
                  return [this, client, answer = std::move(answer), wrong] {
                    door_.answer(client, wrong.empty() ? answer : failure_json(Error{wrong}));
                  };
                });
}

/// `whole`: with all that was asked for it.
Json Daemon::job_json(LedgerJob& job, uid_t user, bool whole) {
  const store::QueueJob& row = job.row;
  Json out{{"number", row.number},
           {"user", row.user},
           {"name", job::text_json(row.name)},
           {"state", store::queue_state_name(row.state)},
           {"priority", row.priority},
           {"submitted", static_cast<double>(row.submitted) * 1e-6},
           {"attempt", row.attempt}};
  if (!row.host.empty()) out["host"] = row.host;
  if (row.started > 0) out["started"] = static_cast<double>(row.started) * 1e-6;
  if (row.ended > 0) out["ended"] = static_cast<double>(row.ended) * 1e-6;
  if (!row.outcome.empty()) out["outcome"] = row.outcome;
  if (!row.after.empty()) out["after"] = row.after;
  const AttemptPlace place = read_place(row.place);
  const bool goes_on = row.state == QueueState::starting || row.state == QueueState::running;
  if (goes_on && !place.devices.empty()) {
    std::vector<std::string> names;
    for (const std::string& device : place.devices) {
      const QueueGpu* gpu = row.host == options_.host ? gpu_of(device) : nullptr;
      names.push_back(gpu != nullptr ? gpu->name : device);
    }
    out["places"] = names;
    out["sharing"] = place.sharing;
    out["promised_speed"] = place.speed;
  }
  if (const auto expected = expected_.find(row.number); expected != expected_.end()) {
    if (!goes_on && expected->second.starts) out["starts_in_seconds"] = expected->second.start;
    if (expected->second.ends) out["ends_in_seconds"] = expected->second.end;
  }
  if (row.state == QueueState::waiting || row.state == QueueState::held)
    if (const auto why = waits_.find(row.number); why != waits_.end())
      out["waits_because"] = job::text_json(why->second);
  // What another user runs is nobody's business, nor is how it went.
  if (!may_touch(job, user)) return out;
  out["command"] = job::texts_json(job.request.job.command);
  out["directory"] = job::text_json(job.request.job.directory.string());
  if (whole) out["request"] = request_json(job.request);
  if (!row.run.empty()) out["run"] = row.run;
  if (!row.reason.empty()) out["reason"] = job::text_json(row.reason);
  if (const auto live = live_.find(row.number); live != live_.end()) {
    const LiveAttempt& attempt = live->second;
    if (!attempt.run.empty()) out["run"] = attempt.run;
    if (attempt.progress) {
      if (attempt.progress->step) out["step"] = *attempt.progress->step;
      if (attempt.progress->gpu_bytes) out["gpu_bytes"] = attempt.progress->gpu_bytes->count();
    }
    if (attempt.saves_by) out["moving"] = attempt.moves_because;
    constexpr double kAWhile = 15;  // s: what is judged by it should not change with every step
    if (goes_on) {
      out["promised_speed"] = attempt.speed;
      out["promised_low"] = attempt.low;
      if (const auto speed = speed_lately(job, attempt, kAWhile)) out["speed"] = *speed;
    }
  }
  if (job.notes.moves > 0) out["moves"] = job.notes.moves;
  if (job.notes.out_of_memory > 0) out["out_of_memory"] = job.notes.out_of_memory;
  return out;
}

Json Daemon::status_json() {
  Json gpus = Json::array();
  for (QueueGpu& gpu : gpus_) {
    Json jobs = Json::array();
    for (const LiveAttempt* attempt : on(gpu.device.uuid)) jobs.push_back(attempt->job);
    Json one{{"name", gpu.name},
             {"uuid", gpu.device.uuid},
             {"device", gpu.device.name},
             {"sharing", gpu.setup == kMpsSetup     ? "mps"
                         : gpu.setup == kNaiveSetup ? "naive"
                                                    : "exclusive"},
             {"total_bytes", gpu.total.count()},
             {"others_bytes", gpu.others.count()},
             {"jobs", jobs}};
    if (!gpu.trouble.empty()) one["trouble"] = gpu.trouble;
    gpus.push_back(std::move(one));
  }
  Json out{{"host", options_.host},
           {"policy", options_.policy},
           {"store", ledger_->store()->location()},
           {"gpus", gpus},
           {"holds_lease", may_act()}};
  if (Clock::now() < rests_until_) out["trouble"] = job::text_json(rests_because_);
  return out;
}

void Daemon::list(const Asked& asked) {
  std::optional<Error> error;
  const job::Fields fields(asked.message, "list", error);
  const bool all = fields.has("all") && fields.flag("all");
  const bool quick = fields.has("quick") && fields.flag("quick");
  if (error) return door_.answer(asked.client, failure_json(*error));
  auto tell = [this, asked, numbers = numbers_of(asked.message), all] { tell_jobs(asked, numbers, all); };
  if (quick) return tell();
  with_forecast(std::move(tell));
}

void Daemon::tell_jobs(const Asked& asked, const std::vector<std::int64_t>& numbers, bool all) {
  Json jobs = Json::array();
  std::size_t left_out = 0;
  std::set<std::int64_t> missing(numbers.begin(), numbers.end());
  for (auto& [number, job] : ledger_->jobs()) {
    if (!numbers.empty() && missing.erase(number) == 0) continue;
    if (jobs.size() >= kMostListed) {
      ++left_out;
      continue;
    }
    jobs.push_back(job_json(job, asked.user, !numbers.empty()));
  }
  Json answer{{"type", "jobs"}, {"queue", status_json()}, {"jobs", jobs}, {"left_out", left_out}};
  if (!all && missing.empty()) return door_.answer(asked.client, answer);
  // Those that have ended are in the store alone.
  store::QueueSearch search{.states = {QueueState::ended},
                            .numbers = {missing.begin(), missing.end()},
                            .limit = numbers.empty() ? kMostEnded : kMostListed,
                            .last = true};
  search.pool = options_.pool;
  errands_.send(kStoreLane, "asking for jobs that have ended",
                [this, client = asked.client, user = asked.user, whole = !numbers.empty(), search,
                 answer = std::move(answer), store = ledger_->store()]() mutable -> running::Errands::Then {
                  auto rows = store->queue().jobs(search);
                  return [this, client, user, whole, answer = std::move(answer),
                          rows = std::move(rows)]() mutable {
                    if (!rows) return door_.answer(client, failure_json(rows.error()));
                    std::ranges::reverse(*rows);
                    for (store::QueueJob& row : *rows) {
                      LedgerJob job{.row = std::move(row)};
                      if (auto request = read_request(Json::parse(job.row.request, nullptr, false)))
                        job.request = *std::move(request);
                      job.notes = read_notes(job.row.notes).value_or(JobNotes());
                      answer["jobs"].push_back(job_json(job, user, whole));
                    }
                    door_.answer(client, answer);
                  };
                });
}

/// What was submitted a moment ago may not be in the ledger yet: then it is asked for first.
void Daemon::once_known(const std::vector<std::int64_t>& numbers, std::function<void()> then) {
  if (std::ranges::all_of(numbers, [&](std::int64_t number) { return ledger_->find(number) != nullptr; }))
    return then();
  ledger_->refresh([then = std::move(then)](bool) { then(); });
}

/// Each is answered for itself; the answer comes when all are done.
void Daemon::change_jobs(const Asked& asked) {
  const std::string type = running::type_of(asked.message);
  struct Pending {
    std::size_t left = 0;
    Json done = Json::array(), refused = Json::array();
  };
  auto pending = std::make_shared<Pending>();
  const auto finish = [this, pending, client = asked.client] {
    if (pending->left == 0)
      door_.answer(client, {{"type", "changed"}, {"numbers", pending->done}, {"refused", pending->refused}});
  };
  const auto refuse = [&](std::int64_t number, const std::string& why) {
    pending->refused.push_back({{"number", number}, {"why", why}});
  };
  const std::vector<std::int64_t> numbers = numbers_of(asked.message);
  pending->left = 1;  // until all have been looked at
  for (const std::int64_t number : numbers) {
    LedgerJob* const job = ledger_->find(number);
    if (job == nullptr) {
      refuse(number, "there is no such job that waits or runs");
      continue;
    }
    if (!may_touch(*job, asked.user)) {
      refuse(number, "it is another user's");
      continue;
    }
    if (job->busy) {
      refuse(number, "it is just being changed; try again");
      continue;
    }
    const QueueState state = job->row.state;
    const bool goes_on = state == QueueState::starting || state == QueueState::running;
    store::QueueChange change;
    store::QueueDecision decision{
        .host = options_.host, .kind = type, .reason = fmt::format("user {} asked for it", asked.user)};
    std::function<void()> after;
    if (type == "cancel" && goes_on) {
      JobNotes notes = job->notes;
      notes.cancelled = true;
      change.notes = notes_text(notes);
      after = [this, number] {
        if (const auto found = live_.find(number); found != live_.end()) ask_to_stop(found->second);
      };
    } else if (type == "cancel") {
      change = {.state = QueueState::ended,
                .outcome = "cancelled",
                .reason = decision.reason,
                .ended = store::now()};
    } else if (type == "hold" && state == QueueState::waiting) {
      change.state = QueueState::held;
    } else if (type == "release" && state == QueueState::held) {
      change.state = QueueState::waiting;
    } else if (type == "priority" && asked.message.contains("priority") &&
               asked.message["priority"].is_number()) {
      change.priority = asked.message["priority"].get<double>();
    } else if (type == "move" && state == QueueState::running) {
      if (!job->request.save) {
        refuse(number, "it never said how it saves (--save SIGNAL), and is not stopped without");
        continue;
      }
      begin_move(number, decision.reason);
      pending->done.push_back(number);
      continue;
    } else {
      refuse(number, fmt::format("it is {}", store::queue_state_name(state)));
      continue;
    }
    ++pending->left;
    ledger_->change(number, std::move(change), std::move(decision), claim_,
                    [this, number, pending, finish, after](Ledger::Done done) {
                      --pending->left;
                      note_undone(done);
                      if (done == Ledger::Done::yes) {
                        pending->done.push_back(number);
                        if (after) after();
                      } else {
                        pending->refused.push_back(
                            {{"number", number},
                             {"why", done == Ledger::Done::no ? "it has changed meanwhile; try again"
                                                              : "the store does not answer"}});
                      }
                      dirty_ = true;
                      finish();
                    });
  }
  --pending->left;
  finish();
}

void Daemon::decisions(const Asked& asked) {
  const std::vector<std::int64_t> numbers = numbers_of(asked.message);
  const std::optional<std::int64_t> number = numbers.empty() ? std::nullopt : std::optional(numbers.front());
  if (!number && asked.user != 0 && asked.user != ::geteuid())
    return door_.answer(asked.client, failure_json(Error{"of which job?"}));
  errands_.send(kStoreLane, "asking for decisions",
                [this, client = asked.client, user = asked.user, number,
                 store = ledger_->store()]() -> running::Errands::Then {
                  bool allowed = !number || user == 0 || user == ::geteuid();
                  if (!allowed)
                    if (const auto rows = store->queue().jobs({.numbers = {*number}, .with_request = false});
                        rows && !rows->empty())
                      allowed = rows->front().user == fmt::format("{}", user);
                  auto found = store->queue().decisions(number, 0, kMostDecisions);
                  return [this, client, allowed, found = std::move(found)] {
                    if (!allowed) return door_.answer(client, failure_json(Error{"it is another user's"}));
                    if (!found) return door_.answer(client, failure_json(found.error()));
                    Json list = Json::array();
                    for (const store::QueueDecision& decision : *found) {
                      Json one{{"at", static_cast<double>(decision.at) * 1e-6},
                               {"job", decision.job},
                               {"host", decision.host},
                               {"kind", decision.kind},
                               {"reason", job::text_json(decision.reason)}};
                      if (!decision.expected.empty())
                        one["expected"] = Json::parse(decision.expected, nullptr, false);
                      list.push_back(std::move(one));
                    }
                    door_.answer(client, {{"type", "decisions"}, {"decisions", list}});
                  };
                });
}

}  // namespace plimsoll::queue
