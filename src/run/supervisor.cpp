#include "run/supervisor.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>

#include <fcntl.h>
#include <fmt/ranges.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/own_children.hpp"
#include "base/text.hpp"
#include "run/attempt_keeping.hpp"
#include "run/errands.hpp"
#include "run/gpu_use.hpp"
#include "run/preparation.hpp"
#include "run/recorder.hpp"
#include "run/recover.hpp"
#include "run/supervised_group.hpp"
#include "run/supervisor_client.hpp"
#include "run/turns.hpp"
#include "store/timestamp.hpp"

namespace plimsoll::running {
namespace {

using Clock = Watch::Clock;
using std::chrono::milliseconds;

// After a command's start: what takes less seldom needs its packages' versions.
constexpr milliseconds kAskPython{1500};
constexpr milliseconds kSayWhatHangs{5000};
constexpr std::size_t kMostFrames = 6000;  // kept while the store does not answer
constexpr milliseconds kHurried{2000};     // for what only takes a moment

/// What a record cannot do without.
store::Change end_of(const Ended& ended) {
  store::Change change;
  change.status = status_of(ended.outcome);
  change.end = store::now();
  change.tags["plimsoll.outcome"] = name(ended.outcome);
  if (!ended.reason.empty()) change.tags["plimsoll.reason"] = ended.reason;
  if (ended.signal != 0)
    change.tags["plimsoll.signal"] = fmt::format("{}", ended.signal);
  else
    change.tags["plimsoll.exit_code"] = fmt::format("{}", ended.exit_code);
  return change;
}

store::Change rest_of(const Watch& watch) {
  store::Change change;
  change.params = watch.params();
  if (watch.metrics_dropped() > 0)
    change.tags["plimsoll.metrics_dropped"] = fmt::format("{}", watch.metrics_dropped());
  if (watch.metrics_unreadable() > 0)
    change.tags["plimsoll.metrics_unreadable"] = fmt::format("{}", watch.metrics_unreadable());
  return change;
}

/// What still works for one that hangs is kept to the end of the process: it may wake up, and use it.
void keep_for_ever(std::shared_ptr<void> thing) {
  static std::mutex mutex;
  static std::vector<std::shared_ptr<void>> kept;
  const std::scoped_lock lock(mutex);
  kept.push_back(std::move(thing));
}

class Supervisor {
 public:
  Supervisor(const std::vector<JobSpec>& jobs, const SessionOptions& options, const Listener& listener,
             Control& control, SignalSource& signals, const RuntimeDirectory& directory,
             const Services& services)
      : jobs_(jobs),
        options_(options),
        listener_(listener),
        control_(control),
        signals_(signals),
        directory_(directory),
        services_(services),
        output_(options.output_to_error ? STDERR_FILENO : STDOUT_FILENO),
        error_(STDERR_FILENO),
        shows_output_(options.show_output),
        preparation_({.jobs = jobs,
                      .options = options,
                      .services = services,
                      .errands = errands_,
                      .directory = directory.path(),
                      .say = [this](const std::string& line) { say(line); },
                      .add_later = [this](const Record& record,
                                          const Provenance& found) { add_later(record, found); }}) {
    if (options.attempt)
      attempt_.emplace(AttemptKeeping::Setting{.held = options.attempt,
                                               .errands = errands_,
                                               .listener = listener,
                                               .grace = options.watch.grace,
                                               .warn = [this](const std::string& line) { warn(line); }});
  }

  Result<SessionResult> run() {
    open();
    while (!failure_ && !is_over()) {
      if (is_open()) proceed();
      if (failure_ || is_over()) break;
      serve();
    }
    if (!failure_) conclude();
    part();
    if (failure_) return std::unexpected(*std::move(failure_));
    return std::move(result_);
  }

 private:
  // Opening

  void open() {
    // Orphans of the commands come to this process, which can then tell when the last has ended.
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    struct Stores {
      std::shared_ptr<store::Store> first;
      std::shared_ptr<std::unique_ptr<store::Store>> second;
    };
    errands_.send("store", "opening the store",
                  [open = services_.open_store, open_also = services_.open_also, where = options_.store,
                   this]() -> Errands::Then {
                    const auto opened = [&]() -> Result<Stores> {
                      auto first = open(where);
                      if (!first) return std::unexpected(std::move(first).error());
                      auto second = open(where);
                      if (!second) return std::unexpected(std::move(second).error());
                      return Stores{*std::move(first),
                                    std::make_shared<std::unique_ptr<store::Store>>(*std::move(second))};
                    }();
                    std::vector<std::string> said;
                    std::vector<std::string> warned;
                    Status recovered;
                    if (opened)
                      recovered =
                          recover(*opened->first, [&](const std::string& line) { said.push_back(line); });
                    if (opened && recovered && open_also)
                      open_also([&](const std::string& line) { warned.push_back(line); });
                    return [this, opened, said, warned, recovered] {
                      for (const std::string& line : said) say(line);
                      for (const std::string& line : warned) warn(line);
                      if (!opened) return fail_with(opened.error());
                      if (!recovered) return fail_with(recovered.error());
                      store_ = opened->first;
                      recorder_store_ = std::move(*opened->second);
                      begin();
                    };
                  });
    errands_.send("nvml", "asking the driver for the GPUs", [jobs = jobs_, this]() -> Errands::Then {
      auto hardware = std::make_shared<Result<JobHardware>>(open_hardware(jobs));
      return [this, hardware] {
        if (!*hardware) return fail_with(hardware->error());
        hardware_ = std::make_shared<const JobHardware>(**hardware);
        begin();
      };
    });
  }

  void fail_with(const Error& error) {
    if (!failure_) failure_ = error;
  }
  [[nodiscard]] bool is_open() const { return recorder_ != nullptr; }

  /// Once everything is open.
  void begin() {
    if (!store_ || !hardware_ || stopping_) return;
    telemetry::SamplerOptions sampler;
    sampler.rate = options_.rate;
    sampler.nvml = hardware_->sampled.get();
    for (const auto& devices : hardware_->devices)
      for (const ChosenDevice& device : devices)
        if (device.number && std::ranges::find(sampler.devices, *device.number) == sampler.devices.end())
          sampler.devices.push_back(*device.number);
    sampling_ = std::make_shared<telemetry::SamplingThread>(
        telemetry::Sampler(sampler), options_.rate, kMostFrames,
        [use = use_](const auto& frame, const auto& series) { use->see(frame, series); });
    recorder_ = std::make_shared<Recorder>(std::move(recorder_store_), sampling_.get());
    SupervisedGroup group;
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      group.jobs.push_back(i);
      group.sharing = jobs_[i].sharing;
      for (const ChosenDevice& device : hardware_->devices[i])
        if (std::ranges::find(group.devices, device) == group.devices.end()) group.devices.push_back(device);
    }
    pending_.push_back(std::move(group));
    preparation_.open(store_, hardware_);
  }

  // Groups

  [[nodiscard]] bool is_over() const {
    if (!is_open()) return stopping_;
    return !group_ && not_started_.empty() && (pending_.empty() || stopping_);
  }

  void proceed() {
    if (!group_ && !pending_.empty() && !stopping_) {
      SupervisedGroup next = std::move(pending_.front());
      pending_.pop_front();
      activate(std::move(next));
    }
    if (!group_) return;
    preparation_.proceed(Clock::now());
    for (Preparation::Refused& refused : preparation_.take_refused())
      report({.job = refused.job,
              .outcome = refused.outcome,
              .reason = std::move(refused.reason),
              .exit_code = 3});
    for (Preparation::Prepared& prepared : preparation_.take_prepared()) note_and_start(std::move(prepared));
    if (beginning_ > 0) return;
    if (preparation_.is_empty()) predict();
    if (group_->running.empty() && preparation_.is_empty()) end_group();
  }

  void activate(SupervisedGroup group) {
    group_ = std::move(group);
    if (!group_->retry) note_waiting();
    if (group_->sharing == Sharing::mps) {
      auto daemon =
          MpsDaemon::start(directory_, group_->devices, options_.watch.if_killed == IfKilled::leave);
      if (!daemon) {
        for (const std::size_t job : group_->jobs)
          report({.job = job, .outcome = Outcome::refused, .reason = daemon.error().text(), .exit_code = 3});
        return;
      }
      group_->daemon = *std::move(daemon);
      errands_.send("mps", "waiting for the MPS daemon", [this, daemon = group_->daemon]() -> Errands::Then {
        const Status answers = daemon->wait_for_answer();
        const std::vector<pid_t> servers = answers ? daemon->servers() : std::vector<pid_t>();
        return [this, answers, servers] { note_daemon(answers, servers); };
      });
    }
    preparation_.begin(group_->jobs, group_->retry, group_->daemon);
  }

  /// So that a second start of their file finds those of whom no run is noted yet.
  void note_waiting() {
    std::vector<std::string> marks;
    for (const std::size_t job : group_->jobs)
      if (waits_for_turn(jobs_[job])) marks.push_back(turn_mark(jobs_[job], options_.store));
    if (marks.empty()) return;
    if (Status noted = directory_.note_waiting(marks); !noted) say(noted.error().text());
  }

  void note_daemon(const Status& answers, const std::vector<pid_t>& servers) {
    if (!group_ || !group_->daemon) return;
    if (!answers) return preparation_.refuse_all(answers.error().text());
    group_->daemon_answers = true;
    preparation_.note_daemon_answers();
    ignore_servers(servers);
  }

  void end_group() {
    if (group_->daemon && !group_->daemon_leaves) {
      group_->daemon_leaves = true;
      if (!group_->daemon_answers) group_->daemon->hurry();
      errands_.send("mps", "stopping the MPS daemon",
                    [daemon = std::move(group_->daemon), this]() mutable -> Errands::Then {
                      daemon.reset();
                      return [this] { group_.reset(); };
                    });
    }
    if (!group_->daemon_leaves) group_.reset();
  }

  /// An attempt's command is started once it is on the disk that it begins.
  void note_and_start(Preparation::Prepared prepared) {
    if (!attempt_) return start(std::move(prepared));
    ++beginning_;
    const auto self = ProcessIdentity::of(::getpid());
    Began began{.run = prepared.record.id,
                .socket = directory_.path() / kControlSocket,
                .supervisor = self ? self->text() : std::string()};
    auto waiting = std::make_shared<Preparation::Prepared>(std::move(prepared));
    attempt_->begin(std::move(began), [this, waiting](const Status& noted) {
      --beginning_;
      if (stopping_)
        leave_out(*waiting, {.outcome = Outcome::interrupted,
                             .reason = "it was ended before its command started",
                             .stopped = StopCause::interrupted});
      else if (!noted)
        leave_out(*waiting, {.outcome = Outcome::refused, .reason = noted.error().text(), .exit_code = 3});
      else
        start(std::move(*waiting));
    });
  }

  /// Has a record, and is not started.
  void leave_out(const Preparation::Prepared& prepared, Ended ended) {
    preparation_.note_ended(prepared.launch, prepared.record);
    ended.job = prepared.launch.job;
    ended.run = prepared.record.id;
    const int number = ++last_number_;
    recorder_->begin(number, ended.run, {});
    recorder_->finish(number, end_of(ended), {}, milliseconds(0));
    not_started_.emplace(number, std::move(ended));
  }

  void start(Preparation::Prepared prepared) {
    const Launch& launch = prepared.launch;
    const Record& record = prepared.record;
    const JobSpec& job = jobs_[launch.job];
    const int number = ++last_number_;
    Watch::Place place;
    place.number = number;
    place.id = record.id;
    place.artifacts = record.artifacts;
    place.socket = directory_.path() / fmt::format("{}.sock", number);
    place.variables = launch.variables;
    if (options_.variables_of)
      std::ranges::copy(options_.variables_of(record.id), std::back_inserter(place.variables));
    place.inherit_input = options_.inherit_input;
    if (shows_output_) {
      place.output = &output_;
      place.error = options_.output_to_error ? &output_ : &error_;
    }
    std::vector<unsigned> gpus;
    for (const ChosenDevice& device : launch.devices)
      if (device.number) gpus.push_back(*device.number);
    recorder_->begin(number, record.id, gpus, record.alone);
    note_run(record.id);
    JobSpec wrapped = job;
    wrapped.command = profiled(options_.profiler, job.command, place.artifacts);
    Result<std::unique_ptr<Watch>> watch =
        Watch::start(wrapped, options_.watch, std::move(place), *recorder_, errands_);
    if (!watch) {
      preparation_.note_ended(launch, record);
      Ended ended{.job = launch.job,
                  .run = record.id,
                  .outcome = Outcome::failed,
                  .reason = watch.error().text(),
                  .exit_code = 127};
      recorder_->finish(number, end_of(ended), {}, milliseconds(0));
      not_started_.emplace(number, std::move(ended));
      return;
    }
    preparation_.note_started(launch, record, (*watch)->pid());
    sampling_->watch({number, (*watch)->pid(), gpus});
    if (listener_.started) listener_.started(launch.job, record.id);
    Supervised running;
    running.watch = *std::move(watch);
    running.launch = std::move(prepared.launch);
    running.record = std::move(prepared.record);
    running.started = Clock::now();
    ++group_->begun;
    group_->running.emplace(number, std::move(running));
  }

  void note_run(const std::string& id) {
    if (Status noted = directory_.note_run(id); !noted) say(noted.error().text());
    if (options_.watch.if_killed != IfKilled::leave) return;
    if (Status noted = directory_.note_survival(); !noted) say(noted.error().text());
  }

  void report(Ended ended) {
    if (!attempt_) return tell(std::move(ended));
    attempt_->tell_end(std::move(ended), [this](Ended written) { tell(std::move(written)); });
  }

  void tell(Ended ended) {
    if (listener_.ended) listener_.ended(ended);
    result_.ended.push_back(std::move(ended));
  }

  void add_later(const Record& record, Provenance found) {
    if (found.tags.empty() && found.files.empty()) return;
    errands_.send(
        "store", "adding to the run's record",
        [this, store = store_, record, found = std::move(found)]() -> Errands::Then {
          const Status added = add_to_record(record, found, *store);
          return [this, added] {
            if (!added)
              warn(fmt::format("what was found out of the run is not recorded: {}", added.error().text()));
          };
        });
  }

  /// What those that run together do to each other, before it happens; into their records. Nothing where one
  /// has ended by the time that the last has started: what happened until then was something else.
  void predict() {
    if (std::exchange(group_->predicted, true)) return;
    if (group_->running.size() < group_->begun || std::ranges::any_of(group_->running, [](const auto& entry) {
          return entry.second.ended.has_value();
        }))
      return;
    std::vector<Companion> together;
    std::vector<Record> records;
    const std::vector<ChosenDevice>* devices = nullptr;
    for (const auto& [number, running] : group_->running) {
      if (devices == nullptr) devices = &running.launch.devices;
      if (running.launch.devices.size() != 1 || running.launch.devices != *devices) return;
      together.push_back(
          {.job = jobs_[running.launch.job],
           .run = running.record.id,
           .alone_run = running.record.alone ? std::optional(running.record.alone->run) : std::nullopt});
      records.push_back(running.record);
    }
    if (!can_be_predicted(together)) return;
    errands_.send("estimate", "predicting what the jobs do to each other",
                  [this, together, records, predict = services_.predict, program = options_.program,
                   store = options_.store, directory = directory_.path()]() -> Errands::Then {
                    auto tags = predict(together, program, store, directory);
                    return [this, tags = std::move(tags), records] {
                      if (!tags)
                        return say("what they do to each other is not known: " + tags.error().text());
                      for (std::size_t i = 0; i < records.size(); ++i)
                        add_later(records[i], {.tags = (*tags)[i], .files = {}});
                    };
                  });
  }

  void ask_about(Supervised& running, Clock::time_point now) {
    if (!running.python_asked && now - running.started > kAskPython) {
      running.python_asked = true;
      errands_.send("python", "asking Python for its packages",
                    [this, python = services_.python, job = running.watch->job(),
                     record = running.record]() -> Errands::Then {
                      auto found = std::make_shared<Provenance>(python(job));
                      return [this, found, record] { add_later(record, *found); };
                    });
    }
    if (group_->daemon && !running.client_asked && running.watch->metrics() > 0) {
      running.client_asked = true;
      errands_.send("mps", "asking the MPS daemon for its clients",
                    [this, daemon = group_->daemon, record = running.record]() -> Errands::Then {
                      const Result<std::string> clients = daemon->ask("ps");
                      const std::vector<pid_t> servers = daemon->servers();
                      return [this, clients, servers, record] {
                        ignore_servers(servers);
                        if (clients)
                          add_later(record, {.tags = {{"plimsoll.mps.clients", *clients}}, .files = {}});
                      };
                    });
    }
  }

  void ignore_servers(const std::vector<pid_t>& servers) {
    for (const pid_t server : servers) sampling_->ignore(server);
  }

  // The loop

  /// One wait for whatever comes first, and what follows from it.
  void serve() {
    Interests interests;
    interests.push_back({signals_.descriptor(), POLLIN, [this] { take_signals(); }});
    interests.push_back({errands_.descriptor(), POLLIN, [this] { errands_.deliver(); }});
    interests.push_back({control_.descriptor(), POLLIN, [this] { take_news(); }});
    if (recorder_) interests.push_back({recorder_->descriptor(), POLLIN, [this] { recorder_->drain(); }});
    output_.collect(interests);
    error_.collect(interests);
    const auto now = Clock::now();
    const bool next_is_due = !group_ && !pending_.empty() && !stopping_;
    auto until = next_is_due ? now : now + milliseconds(10'000);
    if (attempt_) until = std::min(until, attempt_->next());
    if (group_) {
      until = preparation_.next(until);
      if (group_->daemon && !group_->daemon_ended)
        interests.push_back({group_->daemon->exit_descriptor(), POLLIN, [] {}});
      for (auto& [number, running] : group_->running) {
        running.watch->collect(interests);
        if (running.ended) {
          until = std::min(
              until, running.ended_at +
                         (told_hanging_ ? services_.patience : std::min(services_.patience, kSayWhatHangs)));
          continue;
        }
        until = std::min(until, running.watch->next(now));
        if (!running.python_asked) until = std::min(until, running.started + kAskPython + milliseconds(1));
      }
    }
    wait_on(interests, std::chrono::ceil<milliseconds>(until - now));
    if (group_) watch_group();
    if (recorder_) {
      tell_troubles();
      take_finished();
    }
    if (group_) close_records();
  }

  static void wait_on(const Interests& interests, milliseconds patience) {
    std::vector<pollfd> descriptors;
    descriptors.reserve(interests.size());
    for (const Interest& interest : interests)
      descriptors.push_back({interest.descriptor, interest.events, 0});
    ::poll(descriptors.data(), descriptors.size(),
           static_cast<int>(std::max<std::int64_t>(0, patience.count())));
    for (std::size_t i = 0; i < descriptors.size(); ++i)
      if (descriptors[i].revents != 0) interests[i].act();
  }

  void watch_group() {
    const auto now = Clock::now();
    if (group_->daemon && !group_->daemon_ended && group_->daemon->has_ended()) {
      group_->daemon_ended = true;
      say("the MPS daemon has ended; its clients will fail");
      for (auto& [number, running] : group_->running) running.watch->note_daemon_ended();
      preparation_.refuse_all("the MPS daemon of its workload has ended");
    }
    for (auto& [number, running] : group_->running) {
      if (running.ended) continue;
      running.watch->acknowledge();
      ask_about(running, now);
      const bool over = running.watch->proceed(now);
      for (const pid_t orphan : running.watch->take_orphans()) {
        sampling_->adopt(number, orphan);
        if (!over && !stopping_ && running.watch->place().output != nullptr)
          say(fmt::format("the command has ended, but a process that it started ({}) runs on and is watched",
                          orphan));
      }
      if (over)
        end(number, running, now);
      else if (attempt_)
        attempt_->look_after(*running.watch, *use_, now);
    }
  }

  void end(int number, Supervised& running, Clock::time_point now) {
    const Watch& watch = *running.watch;
    const Evidence evidence = watch.evidence();
    Ending ending = judge(evidence);
    Ended ended{.job = running.launch.job,
                .run = watch.place().id,
                .outcome = ending.outcome,
                .reason = std::move(ending.reason),
                .exit_code = evidence.exit_code,
                .signal = evidence.signal,
                .elapsed = Seconds(std::chrono::duration<double>(now - running.started).count()),
                .retried = running.launch.retry,
                .stopped = evidence.stopped,
                .gpu_fault = ending.gpu_fault,
                .peak_gpu_bytes = use_->peak(number)};
    sampling_->forget(number);
    // The sampler reads a run that it is to forget once more; that frame is part of the record.
    recorder_->finish(number, end_of(ended), rest_of(watch),
                      milliseconds(static_cast<int>(1200 / options_.rate) + 20));
    // A lane for each: one whose copy hangs keeps nobody else's record open.
    errands_.send(fmt::format("files {}", number), "keeping the command's files",
                  [this, number, keep = services_.keep_files, job = watch.job(), named = watch.artifacts(),
                   artifacts = running.record.artifacts]() -> Errands::Then {
                    const std::vector<std::string> troubles = keep(job, named, artifacts);
                    return [this, number, troubles] {
                      for (const std::string& trouble : troubles) warn(trouble);
                      if (Supervised* of = group_ ? group_->find(number) : nullptr) of->files_kept = true;
                    };
                  });
    if (const std::uint64_t count = watch.metrics_unreadable(); count > 0)
      warn(
          fmt::format("{} metric{} that the command printed could not be read and {} not in the record; {}{}",
                      count, count == 1 ? "" : "s", count == 1 ? "is" : "are",
                      count == 1 ? "" : "the first: ", watch.first_unreadable()));
    preparation_.note_ended(running.launch, running.record);
    if (attempt_) attempt_->note_end(*running.watch, *use_, ended);
    running.ended = std::move(ended);
    running.ended_at = now;
  }

  void take_finished() {
    for (Recorder::Finished& finished : recorder_->take_finished()) {
      if (const auto found = not_started_.find(finished.run); found != not_started_.end()) {
        if (!finished.kept) found->second.unkept = finished.kept.error();
        report(std::move(found->second));
        not_started_.erase(found);
        continue;
      }
      Supervised* running = group_ ? group_->find(finished.run) : nullptr;
      if (running == nullptr || !running->ended) continue;
      if (!finished.kept) running->ended->unkept = finished.kept.error();
      running->ended->metrics_lost = finished.metrics_lost + running->watch->metrics_dropped();
      running->is_recorded = true;
    }
  }

  /// Reports those of which nothing is left to be done, or to be waited for.
  void close_records() {
    const auto now = Clock::now();
    std::vector<int> done;
    for (auto& [number, running] : group_->running) {
      if (!running.ended) continue;
      const bool given_up = hurried_ || now >= running.ended_at + services_.patience;
      if (!running.is_done() && !given_up) {
        if (!told_hanging_ && now >= running.ended_at + kSayWhatHangs) tell_hanging();
        continue;
      }
      done.push_back(number);
    }
    for (const int number : done) {
      Supervised running = std::move(group_->running.at(number));
      group_->running.erase(number);
      close(std::move(running));
    }
  }

  void close(Supervised running) {
    Ended ended = *std::move(running.ended);
    ended.peak_gpu_bytes = use_->peak(running.watch->place().number);  // with its last sample
    unanswered_ = unanswered_ || !running.is_recorded;
    if (!running.is_recorded)
      ended.unkept = Error{"the store does not answer",
                           {},
                           "The next start of a run ends the record.",
                           Error::Kind::unavailable};
    if (!running.files_kept) warn("files of the command are not all kept: the disk does not answer");
    if (running.watch->log_failed() || !running.watch->log_is_finished())
      add_later(running.record,
                {.tags = {{"plimsoll.log", "incomplete: the disk did not take all of it"}}, .files = {}});
    const bool again = options_.retry_out_of_memory && ended.outcome == Outcome::cuda_out_of_memory &&
                       !ended.retried && !stopping_;
    if (!again) return report(std::move(ended));
    say(fmt::format("{} ran out of GPU memory; it runs once more, alone", title(ended.job)));
    SupervisedGroup alone{.jobs = {ended.job}, .devices = running.launch.devices, .retry = true};
    alone.first = std::move(ended);
    pending_.push_back(std::move(alone));
  }

  void tell_hanging() {
    told_hanging_ = true;
    const std::vector<std::string> under_way = errands_.under_way();
    say(fmt::format("the command has ended; still waiting for the store{}{}, {} s at most; Ctrl-C leaves it",
                    under_way.empty() ? "" : " and for: ", fmt::join(under_way, ", "),
                    std::chrono::duration_cast<std::chrono::seconds>(services_.patience).count()));
  }

  void take_signals() {
    for (const int signal : signals_.take()) {
      if (signal == SIGCHLD) {
        static_cast<void>(reap_strangers());
        continue;
      }
      if (signal == SIGCONT && !stopped_) continue;
      const bool ends = signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
      // Nothing runs, or nothing any more: what is asked for is not to wait.
      const bool anything_runs = group_ && std::ranges::any_of(group_->running, [](const auto& entry) {
                                   return !entry.second.ended;
                                 });
      hurried_ = hurried_ || (ends && !anything_runs);
      stopping_ = stopping_ || ends;
      if (ends) preparation_.stop();
      if (group_)
        for (auto& [number, running] : group_->running)
          if (!running.ended) running.watch->pass_signal(signal);
      stopped_ = signal == SIGTSTP || (stopped_ && signal != SIGCONT);
    }
  }

  void take_news() {
    Control::News news = control_.take();
    for (Control::Viewer& viewer : news.came)
      if (group_)
        for (auto& [number, running] : group_->running)
          if (running.record.id == viewer.run) {
            running.watch->add_viewer(std::move(viewer));
            break;
          }
    if (group_)
      for (auto& [number, running] : group_->running) {
        for (const int left : news.left) running.watch->remove_viewer(left);
        if (news.caller_left) running.watch->show_nobody();
        if (running.ended) continue;
        const bool kill = std::ranges::find(news.kill, running.record.id) != news.kill.end();
        if (kill || std::ranges::find(news.stop, running.record.id) != news.stop.end())
          running.watch->pass_signal(SIGTERM);
        if (kill) running.watch->kill();
      }
    if (!news.caller_left) return;
    shows_output_ = false;
    output_.close();
    error_.close();
    // Whoever reads what the caller wrote to learns that no more comes.
    const FileDescriptor nothing(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    if (!nothing) return;
    ::dup2(nothing.get(), STDOUT_FILENO);
    ::dup2(nothing.get(), STDERR_FILENO);
  }

  // The end

  /// What is still under way is waited for, as long as it makes sense.
  void conclude() {
    if (recorder_) tell_troubles();
    // Someone ended all before it was tried again.
    for (SupervisedGroup& group : pending_)
      if (group.first) report(*std::move(group.first));
    if (sampling_)
      errands_.send("sampler", "stopping the sampler", [sampling = sampling_]() -> Errands::Then {
        sampling->stop();
        return {};
      });
    const auto until =
        Clock::now() + (hurried_ ? std::min(services_.patience, kHurried) : services_.patience);
    for (bool ended = !is_open(); !ended;) {
      const bool answered = errands_.under_way().empty();
      const bool waits = !answered && Clock::now() < until;
      // A reader who has stopped is waited for until somebody ends this program, as without it.
      if (!waits && output_.is_empty() && error_.is_empty()) {
        if (!answered)
          warn(fmt::format("left undone, since nothing answers: {}", fmt::join(errands_.under_way(), ", ")));
        break;
      }
      Interests interests;
      interests.push_back({signals_.descriptor(), POLLIN, [&] {
                             for (const int signal : signals_.take())
                               ended = ended || signal == SIGINT || signal == SIGTERM || signal == SIGHUP;
                           }});
      interests.push_back({errands_.descriptor(), POLLIN, [this] { errands_.deliver(); }});
      interests.push_back({control_.descriptor(), POLLIN, [this] { take_news(); }});
      output_.collect(interests);
      error_.collect(interests);
      wait_on(interests, milliseconds(1000));
    }
    if (attempt_) attempt_->tell_rest();
    result_.interrupted = stopping_;
    if (!sampling_) return;
    result_.sampler_cpu_seconds = sampling_->cost().cpu_seconds;
    result_.frames = sampling_->cost().frames;
  }

  /// What hangs is left to the end of the process, with what it uses.
  void part() {
    static_cast<void>(reap_strangers());
    result_.hangs = unanswered_ || !errands_.under_way().empty();
    if (!result_.hangs) return;
    if (recorder_) keep_for_ever(recorder_);
    if (sampling_) keep_for_ever(sampling_);
    if (hardware_) keep_for_ever(hardware_->sampled);
  }

  void say(const std::string& line) const {
    if (listener_.say) listener_.say(line);
  }
  void warn(const std::string& line) const {
    if (listener_.warn) listener_.warn(line);
  }
  void tell_troubles() {
    for (const std::string& sentence : recorder_->take_troubles()) warn(sentence);
  }
  [[nodiscard]] std::string title(std::size_t job) const { return title_of(jobs_[job], job); }

  const std::vector<JobSpec>& jobs_;
  const SessionOptions& options_;
  const Listener& listener_;
  Control& control_;
  SignalSource& signals_;
  const RuntimeDirectory& directory_;
  const Services& services_;
  Errands errands_;
  Passage output_;
  Passage error_;
  bool shows_output_;
  Preparation preparation_;
  std::shared_ptr<store::Store> store_;
  std::unique_ptr<store::Store> recorder_store_;
  std::shared_ptr<const JobHardware> hardware_;
  std::shared_ptr<telemetry::SamplingThread> sampling_;
  std::shared_ptr<Recorder> recorder_;
  std::deque<SupervisedGroup> pending_;
  std::optional<SupervisedGroup> group_;
  std::optional<AttemptKeeping> attempt_;
  // The sampler's thread may outlive this object, where it hangs in a driver.
  std::shared_ptr<GpuUse> use_ = std::make_shared<GpuUse>();
  int beginning_ = 0;                 // jobs of which it is being noted that they begin
  std::map<int, Ended> not_started_;  // their records are being closed
  std::optional<Error> failure_;
  int last_number_ = 0;
  bool stopping_ = false;  // nothing more is started
  bool stopped_ = false;   // by Ctrl-Z
  bool hurried_ = false;   // nobody wants to wait for what hangs
  bool told_hanging_ = false;
  bool unanswered_ = false;  // the store, by the end
  SessionResult result_;
};

}  // namespace

Result<SessionResult> supervise(const std::vector<JobSpec>& jobs, const SessionOptions& options,
                                const Listener& listener, Control& control, SignalSource& signals,
                                const RuntimeDirectory& directory, const Services& services) {
  Supervisor supervisor(jobs, options, listener, control, signals, directory, services);
  return supervisor.run();
}

}  // namespace plimsoll::running
