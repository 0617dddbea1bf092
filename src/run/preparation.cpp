#include "run/preparation.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/ranges.h>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "run/attempt_folder.hpp"
#include "run/inventory.hpp"
#include "run/promises.hpp"
#include "run/summary.hpp"
#include "run/turns.hpp"
#include "store/timestamp.hpp"

namespace plimsoll::running {
namespace {

constexpr std::chrono::milliseconds kLookForRoom{500};

Promise promise_of(const Launch& launch, std::string run, pid_t first = 0) {
  Promise promise{.run = std::move(run), .need = launch.need->bytes, .first = first};
  for (const ChosenDevice& device : launch.devices) promise.devices.push_back(device.uuid);
  return promise;
}

/// GPU memory is promised to a job that has no run yet under this name.
std::string waiting_name(std::size_t job) {
  return fmt::format("job-{}", job);
}

/// Looks, and promises what it finds, before anybody else can look.
Result<Admission> look_for_room(const nvml::Library* nvml, const std::filesystem::path& directory,
                                const Launch& launch) {
  const std::filesystem::path base = directory.parent_path();
  const Result<AdmissionLock> lock = AdmissionLock::take(base, std::chrono::seconds(10));
  if (!lock) return std::unexpected(lock.error());
  const std::vector<Promise> promises = list_promises(base);
  const Host host = look_at_host(nvml, runs_of(promises));
  Admission admission = admit(launch.need, launch.devices, host, promises);
  if (admission.answer == Admission::Answer::start)
    PLIMSOLL_TRY(note_promise(directory, promise_of(launch, waiting_name(launch.job))));
  return admission;
}

}  // namespace

void Preparation::open(std::shared_ptr<store::Store> store, std::shared_ptr<const JobHardware> hardware) {
  store_ = std::move(store);
  hardware_ = std::move(hardware);
}

void Preparation::begin(const std::vector<std::size_t>& jobs, bool retry, std::shared_ptr<MpsDaemon> daemon) {
  daemon_ = std::move(daemon);
  daemon_answers_ = false;
  proven_.clear();
  ended_.resize(setting_.jobs.size(), false);
  const auto now = Clock::now();
  std::vector<std::vector<std::size_t>> awaited = awaited_by(setting_.jobs);
  for (const std::size_t index : jobs) {
    const JobSpec& of = setting_.jobs[index];
    auto candidate = std::make_shared<Candidate>();
    Launch& launch = candidate->launch;
    launch.job = index;
    launch.retry = retry;
    launch.devices = hardware_->devices[index];
    if (!of.devices.empty())
      launch.variables.emplace_back("CUDA_VISIBLE_DEVICES", device_list(launch.devices));
    launch.mode = daemon_ ? "mps" : jobs.size() > 1 ? "naive" : "alone";
    if (setting_.options.attempt) launch.mode = setting_.options.attempt->attempt.shared_as;
    if (!retry) {
      candidate->awaited = std::move(awaited[index]);
      candidate->starts = now + std::chrono::ceil<Clock::duration>(
                                    std::chrono::duration<double>(of.start.value_or(Seconds()).value()));
    }
    candidates_.push_back(std::move(candidate));
  }
}

void Preparation::refuse(const Asking& candidate, Outcome outcome, std::string reason) {
  drop_promise(setting_.directory, waiting_name(candidate->launch.job));
  ended_[candidate->launch.job] = true;
  refused_.push_back({candidate->launch.job, outcome, std::move(reason)});
  std::erase(candidates_, candidate);
}

void Preparation::refuse_all(const std::string& reason) {
  for (const Asking& candidate : std::vector(candidates_)) refuse(candidate, Outcome::refused, reason);
}

void Preparation::stop() {
  stopping_ = true;
  for (const Asking& candidate : candidates_) {
    drop_promise(setting_.directory, waiting_name(candidate->launch.job));
    // A record that is just being made is ended once it is there.
    if (candidate->stage == Stage::record && candidate->asked) leaving_.push_back(candidate);
  }
  candidates_.clear();
}

void Preparation::proceed(Clock::time_point now) {
  for (const Asking& candidate : std::vector(candidates_)) advance(candidate, now);
}

Preparation::Clock::time_point Preparation::next(Clock::time_point latest) const {
  for (const Asking& candidate : candidates_) {
    if (candidate->asked) continue;
    // Who waits for another is looked at when that one has ended.
    if (candidate->stage == Stage::turn && (candidate->awaited.empty() || ended_[candidate->awaited.back()]))
      latest = std::min(latest, candidate->starts);
    if (candidate->stage == Stage::room) latest = std::min(latest, candidate->again);
    if (candidate->stage == Stage::record) latest = std::min(latest, candidate->git_by);
  }
  return latest;
}

void Preparation::note_started(const Launch& launch, const Record& record, pid_t pid) {
  if (!launch.need) return;
  // The run's own promise first: what is promised twice for a moment is given to nobody.
  static_cast<void>(note_promise(setting_.directory, promise_of(launch, record.id, pid)));
  drop_promise(setting_.directory, waiting_name(launch.job));
}

void Preparation::note_ended(const Launch& launch, const Record& record) {
  ended_[launch.job] = true;
  drop_promise(setting_.directory, record.id);
  drop_promise(setting_.directory, waiting_name(launch.job));
}

/// As far as it goes without waiting.
void Preparation::advance(const Asking& candidate, Clock::time_point now) {
  for (bool moved = true; moved && !candidate->asked;) {
    const Stage before = candidate->stage;
    switch (before) {
      case Stage::turn: wait_for_turn(candidate, now); break;
      case Stage::need: find_need(candidate); break;
      case Stage::limits: find_limits(candidate); break;
      case Stage::room: find_room(candidate, now); break;
      case Stage::record: make_record(candidate, now); break;
    }
    moved = candidate->stage != before;
  }
}

/// Has something done for a candidate; what follows is left out where it has gone meanwhile.
template <class Answer>
void Preparation::ask(const Asking& candidate, std::string_view lane, std::string what,
                      std::function<Answer()> work, std::function<void(const Asking&, Answer&)> then) {
  candidate->asked = true;
  setting_.errands.send(
      lane, std::move(what),
      [weak = std::weak_ptr(candidate), work = std::move(work), then = std::move(then)]() -> Errands::Then {
        auto answer = std::make_shared<Answer>(work());
        return [weak, then, answer] {
          const Asking asking = weak.lock();
          if (!asking) return;
          asking->asked = false;
          then(asking, *answer);
        };
      });
}

void Preparation::wait_for_turn(const Asking& candidate, Clock::time_point now) {
  std::vector<std::size_t>& awaited = candidate->awaited;
  while (!awaited.empty() && ended_[awaited.back()]) awaited.pop_back();
  if (!awaited.empty() || now < candidate->starts) {
    if (!std::exchange(candidate->told_waiting, true)) setting_.say(told_turn(candidate, now));
    return;
  }
  candidate->told_waiting = false;  // for its turn; now it may be for room
  candidate->git = ask_git(job(candidate), now);
  candidate->git_by = now + setting_.services.git_patience;
  candidate->stage = Stage::need;
}

std::string Preparation::told_turn(const Asking& candidate, Clock::time_point now) const {
  constexpr std::size_t kMostNamed = 5;
  std::vector<std::string> names;
  std::size_t unnamed = 0;
  for (const std::size_t other : candidate->awaited) {
    if (ended_[other]) continue;
    if (names.size() == kMostNamed)
      ++unnamed;
    else
      names.push_back(printable(title_of(setting_.jobs[other], other)));
  }
  std::string line = printable(title_of(job(candidate), candidate->launch.job));
  if (!names.empty()) line += fmt::format(" waits for {}", fmt::join(names, ", "));
  if (unnamed > 0) line += fmt::format(" and {} more", unnamed);
  if (now >= candidate->starts) return line;
  const std::string left = text(Seconds(std::chrono::duration<double>(candidate->starts - now).count()));
  return line + (names.empty() ? fmt::format(" starts in {}", left)
                               : fmt::format(", and starts in {} at the earliest", left));
}

void Preparation::find_need(const Asking& candidate) {
  const JobSpec& of = job(candidate);
  const auto found = [](const Asking& asking, std::optional<Need> need) {
    asking->launch.need = std::move(need);
    asking->stage = Stage::limits;
  };
  if (candidate->launch.devices.empty()) return found(candidate, {});
  if (of.need) return found(candidate, Need{*of.need, "given"});
  if (!of.estimate.empty() && !candidate->estimated)
    return ask<Result<Bytes>>(
        candidate, "estimate", fmt::format("the estimate for {}", title_of(of, candidate->launch.job)),
        [estimate = setting_.services.estimate, of, program = setting_.options.program] {
          return estimate(of, program);
        },
        [found](const Asking& asking, Result<Bytes>& bytes) {
          asking->estimated = true;
          if (bytes) found(asking, Need{*bytes, "plimsoll estimate"});
        });
  ask<std::optional<Bytes>>(
      candidate, "store", "looking for the command's last run",
      [store = store_, of] { return last_gpu_memory(*store, fingerprint(of)); },
      [found](const Asking& asking, std::optional<Bytes>& bytes) {
        found(asking, bytes ? std::optional(Need{*bytes, "its last run"}) : std::nullopt);
      });
}

/// The limits of an MPS client, proven: what CUDA gives a process with these very variables.
void Preparation::find_limits(const Asking& candidate) {
  if (!daemon_) {
    candidate->stage = Stage::room;
    return;
  }
  if (!daemon_answers_) return;
  const JobSpec& of = job(candidate);
  Variables variables = candidate->launch.variables;
  std::ranges::copy(daemon_->client_variables(of.mps_percentage, of.mps_memory),
                    std::back_inserter(variables));
  std::string key;
  for (const auto& [name, value] : variables) key += fmt::format("{}={}\n", name, value);
  const auto proceed_with = [variables](const Asking& asking, const Result<std::string>& facts) {
    asking->launch.variables = variables;
    if (facts)
      asking->launch.tags["plimsoll.mps.effective"] = *facts;
    else
      asking->launch.tags["plimsoll.mps.unproven"] = facts.error().text();
    asking->stage = Stage::room;
  };
  if (const auto known = proven_.find(key); known != proven_.end())
    return proceed_with(candidate, known->second);
  ask<Result<CudaFacts>>(
      candidate, "mps", "asking CUDA for an MPS client's limits",
      [probe = setting_.services.probe, program = setting_.options.program, variables] {
        return probe(program, variables);
      },
      [this, key, proceed_with](const Asking& asking, Result<CudaFacts>& facts) {
        Result<std::string> text =
            facts ? Result<std::string>(to_json(*facts)) : std::unexpected(facts.error());
        proceed_with(asking, proven_.insert_or_assign(key, std::move(text)).first->second);
      });
}

void Preparation::find_room(const Asking& candidate, Clock::time_point now) {
  if (!candidate->launch.need || candidate->launch.devices.empty()) {
    candidate->stage = Stage::record;
    return;
  }
  if (setting_.options.attempt) {
    // The queue has looked, and reckons with those beside it; others are to know what it was given.
    if (const Status noted = note_promise(setting_.directory,
                                          promise_of(candidate->launch, waiting_name(candidate->launch.job)));
        !noted)
      setting_.say(noted.error().text());
    candidate->stage = Stage::record;
    return;
  }
  if (now < candidate->again) return;
  ask<Result<Admission>>(
      candidate, "nvml", "looking for room on the GPU",
      [hardware = hardware_, directory = setting_.directory, launch = candidate->launch] {
        return look_for_room(hardware->nvml.get(), directory, launch);
      },
      [this](const Asking& asking, Result<Admission>& admission) { take_admission(asking, admission); });
}

void Preparation::take_admission(const Asking& candidate, const Result<Admission>& admission) {
  candidate->again = Clock::now() + kLookForRoom;
  if (!admission) return;  // another has held the lock for long; asked again
  if (admission->answer == Admission::Answer::start) {
    candidate->stage = Stage::record;
    return;
  }
  if (admission->answer == Admission::Answer::never || !setting_.options.wait)
    return refuse(candidate, Outcome::refused, admission->why);
  if (!std::exchange(candidate->told_waiting, true))
    setting_.say(
        fmt::format("{} waits: it {}", title_of(job(candidate), candidate->launch.job), admission->why));
}

void Preparation::make_record(const Asking& candidate, Clock::time_point now) {
  const JobSpec& of = job(candidate);
  const std::optional<Provenance>& git = candidate->git->found;
  // It mostly answers at once, and before the command changes a file.
  if (!git && now < candidate->git_by) return;
  ask<Result<Record>>(
      candidate, "store", "making the run's record",
      [store = store_, of, git, launch = candidate->launch, options = setting_.options,
       driver = hardware_->driver]() -> Result<Record> {
        Result<Record> record = create_record(of, launch, *store, options, driver);
        if (record && git) static_cast<void>(add_to_record(*record, *git, *store));
        return record;
      },
      [this, had_git = git.has_value()](const Asking& asking, Result<Record>& record) {
        if (record && !had_git) {
          // Git may have answered while the record was being made.
          if (asking->git->found)
            setting_.add_later(*record, *asking->git->found);
          else
            asking->git->without.push_back(*record);
        }
        take_record(asking, record);
      });
}

void Preparation::take_record(const Asking& candidate, Result<Record>& record) {
  if (!stopping_) {
    if (!record) return refuse(candidate, Outcome::failed, record.error().text());
    std::erase(candidates_, candidate);
    prepared_.push_back({std::move(candidate->launch), *std::move(record)});
    return;
  }
  std::erase(leaving_, candidate);
  if (!record) return;
  setting_.errands.send(
      "store", "ending a record that never began", [store = store_, id = record->id]() -> Errands::Then {
        static_cast<void>(
            store->change(id, {.status = store::RunStatus::killed,
                               .end = store::now(),
                               .tags = {{"plimsoll.outcome", std::string(name(Outcome::interrupted))},
                                        {"plimsoll.reason", "it was ended before its command started"}}}));
        return {};
      });
}

/// Asked once for each directory, of all whose turn comes at the same moment: files change while others wait.
std::shared_ptr<Preparation::Revision> Preparation::ask_git(const JobSpec& of, Clock::time_point now) {
  std::shared_ptr<Revision>& last = git_[of.directory];
  if (last && last->asked == now) return last;
  last = std::make_shared<Revision>(Revision{.asked = now});
  setting_.errands.send("git", "asking git for the revision",
                        [this, git = setting_.services.git, of, revision = last]() -> Errands::Then {
                          auto found = std::make_shared<Provenance>(git(of));
                          return [this, found, revision] {
                            revision->found = *found;
                            for (const Record& record : std::exchange(revision->without, {}))
                              setting_.add_later(record, *found);
                          };
                        });
  return last;
}

}  // namespace plimsoll::running
