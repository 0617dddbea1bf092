#include "run/session.hpp"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <iterator>
#include <map>
#include <thread>

#include <sys/prctl.h>

#include "base/files.hpp"
#include "base/text.hpp"
#include "run/client_limits.hpp"
#include "run/kept_files.hpp"
#include "run/launch.hpp"
#include "run/provenance.hpp"
#include "run/recorder.hpp"
#include "run/runtime_directory.hpp"
#include "run/signals.hpp"
#include "store/timestamp.hpp"

namespace plimsoll::running {
namespace {

using Clock = Watch::Clock;
using std::chrono::milliseconds;

/// Jobs that start together.
struct Workload {
  std::vector<std::size_t> jobs;
  Sharing sharing = Sharing::naive;
  std::vector<ChosenDevice> devices;  // of all its jobs
  bool retry = false;
  std::optional<Ended> first = {};  // how it ended before it is tried again
};

/// What is asked once, and told the store, while the command runs: slow questions to Python.
struct Asking {
  Provenance answer;
  std::atomic<bool> done = false;
  std::jthread thread;
};

/// Answers that come after their run has ended.
struct Late {
  std::string run;
  std::filesystem::path artifacts;
  std::unique_ptr<Asking> asking;
};

struct Running {
  std::unique_ptr<Watch> watch;
  Launch launch;
  Clock::time_point started;
  std::optional<Ended> ended;  // all processes are gone; the record is being closed
  std::unique_ptr<Asking> asking;
  bool client_seen = false;
};

struct Active {
  Workload workload;
  std::unique_ptr<MpsDaemon> daemon;
  bool daemon_ended = false;
  std::vector<Launch> waiting;  // for room
  std::map<int, Running> running;
  std::map<std::string, Result<std::string>> proven;
};

bool overlap(const std::vector<ChosenDevice>& a, const std::vector<ChosenDevice>& b) {
  return std::ranges::any_of(a, [&](const ChosenDevice& device) {
    return std::ranges::any_of(b, [&](const ChosenDevice& other) { return other.uuid == device.uuid; });
  });
}

class Session {
 public:
  Session(const std::vector<JobSpec>& jobs, const SessionOptions& options, const Listener& listener,
          SignalSource signals, RuntimeDirectory directory)
      : jobs_(jobs),
        options_(options),
        listener_(listener),
        signals_(std::move(signals)),
        directory_(std::move(directory)),
        output_(options.output_to_error ? STDERR_FILENO : STDOUT_FILENO),
        error_(STDERR_FILENO) {}

  Status open() {
    auto first = store::open(options_.store);
    if (!first) return std::unexpected(std::move(first).error());
    store_ = *std::move(first);
    auto second = store::open(options_.store);
    if (!second) return std::unexpected(std::move(second).error());
    PLIMSOLL_TRY(recover(*store_, listener_.say));
    // Two doors to NVML: one for the sampling thread, one for this.
    if (auto nvml = nvml::open()) nvml_ = *std::move(nvml);
    if (auto nvml = nvml::open()) sampled_nvml_ = *std::move(nvml);
    PLIMSOLL_TRY(form_workloads());
    telemetry::SamplerOptions sampler;
    sampler.rate = options_.rate;
    sampler.nvml = sampled_nvml_.get();
    for (const Workload& workload : pending_)
      for (const ChosenDevice& device : workload.devices)
        if (device.number && std::ranges::find(sampler.devices, *device.number) == sampler.devices.end())
          sampler.devices.push_back(*device.number);
    sampling_ = std::make_unique<telemetry::SamplingThread>(telemetry::Sampler(sampler), options_.rate);
    recorder_ = std::make_unique<Recorder>(*std::move(second), sampling_.get());
    // Orphans of the commands come to this process, which can then tell when the last has ended.
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    return {};
  }

  SessionResult run() {
    while (true) {
      if (!stopping_) activate_workloads();
      for (Active& active : active_) start_waiting(active);
      std::erase_if(active_,
                    [](const Active& active) { return active.running.empty() && active.waiting.empty(); });
      if (active_.empty() && not_started_.empty() && (pending_.empty() || stopping_)) break;
      serve();
    }
    tell_troubles();
    // Someone ended all before it was tried again.
    for (Workload& workload : pending_)
      if (workload.first) report(*std::move(workload.first));
    for (Late& late : late_)
      if (Status told = store_->change(late.run, {.tags = answer_of(*late.asking, late.artifacts)}); !told)
        warn(
            fmt::format("the versions of Python and its packages are not recorded: {}", told.error().text()));
    flush_output();
    sampling_->stop();
    result_.interrupted = stopping_;
    result_.sampler_cpu_seconds = sampling_->cost().cpu_seconds;
    result_.frames = sampling_->cost().frames;
    return std::move(result_);
  }

 private:
  /// What is still to be passed on; a reader who has stopped is waited for until somebody ends this program.
  void flush_output() {
    bool ended = false;
    while (!ended && !(output_.is_empty() && error_.is_empty())) {
      Interests interests;
      interests.push_back({signals_.descriptor(), POLLIN, [&] {
                             for (const int signal : signals_.take())
                               ended = ended || signal == SIGINT || signal == SIGTERM || signal == SIGHUP;
                           }});
      output_.collect(interests);
      error_.collect(interests);
      wait_on(interests, milliseconds(1000));
    }
  }

  /// Waits for the answer, keeps its files, and gives its tags.
  static std::map<std::string, std::string> answer_of(Asking& asking,
                                                      const std::filesystem::path& artifacts) {
    asking.thread.join();
    for (const auto& [file, contents] : asking.answer.files)
      static_cast<void>(write_file(artifacts / file, contents));
    return std::move(asking.answer.tags);
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
  [[nodiscard]] std::string title(std::size_t job) const {
    const JobSpec& of = jobs_[job];
    if (!of.name.empty()) return of.name;
    return of.command.empty() ? fmt::format("job {}", job + 1) : of.command.front();
  }

  Result<std::vector<ChosenDevice>> devices_of(const JobSpec& job) const {
    if (!job.devices.empty()) return choose_devices(nvml_.get(), job.devices);
    const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
    return visible_devices(nvml_.get(),
                           visible == nullptr ? std::nullopt : std::optional<std::string>(visible));
  }

  Status form_workloads() {
    std::map<std::pair<std::string, std::string>, std::size_t> places;
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      const JobSpec& job = jobs_[i];
      Result<std::vector<ChosenDevice>> devices = devices_of(job);
      if (!devices) return std::unexpected(std::move(devices).error().within(title(i)));
      if (job.sharing == Sharing::mps && devices->empty())
        return std::unexpected(Error{"MPS needs an NVIDIA GPU, and this machine has none", title(i),
                                     "Mode naive runs without one.", Error::Kind::machine_lacks});
      std::size_t place = pending_.size();
      if (!job.workload.empty())
        place = places.try_emplace({job.experiment, job.workload}, place).first->second;
      if (place == pending_.size()) pending_.push_back({{}, job.sharing, {}, false, {}});
      Workload& workload = pending_[place];
      workload.jobs.push_back(i);
      for (ChosenDevice& device : *devices)
        if (std::ranges::find(workload.devices, device) == workload.devices.end())
          workload.devices.push_back(std::move(device));
    }
    return {};
  }

  /// In the order of the file; one passes another only where they share no device.
  void activate_workloads() {
    std::vector<ChosenDevice> taken;
    bool without_device = false;
    for (const Active& active : active_) {
      taken.insert(taken.end(), active.workload.devices.begin(), active.workload.devices.end());
      without_device = without_device || active.workload.devices.empty();
    }
    for (auto it = pending_.begin(); it != pending_.end();) {
      const bool free = it->devices.empty() ? !without_device : !overlap(it->devices, taken);
      taken.insert(taken.end(), it->devices.begin(), it->devices.end());
      without_device = without_device || it->devices.empty();
      if (!free) {
        ++it;
        continue;
      }
      Workload workload = std::move(*it);
      it = pending_.erase(it);
      activate(std::move(workload));
    }
  }

  void activate(Workload workload) {
    Active active;
    active.workload = std::move(workload);
    std::optional<Error> refused;
    if (active.workload.sharing == Sharing::mps) {
      auto daemon = MpsDaemon::start(directory_, active.workload.devices);
      if (daemon)
        active.daemon = *std::move(daemon);
      else
        refused = std::move(daemon).error();
    }
    for (const std::size_t job : active.workload.jobs) {
      if (refused) {
        end_unstarted(job, Outcome::refused, refused->text());
        continue;
      }
      active.waiting.push_back(prepare(job, active));
    }
    if (active.daemon)
      for (const pid_t server : active.daemon->servers()) sampling_->ignore(server);
    active_.push_back(std::move(active));
  }

  Launch prepare(std::size_t index, Active& active) {
    const JobSpec& job = jobs_[index];
    Launch launch;
    launch.job = index;
    launch.retry = active.workload.retry;
    launch.devices = devices_of(job).value_or(std::vector<ChosenDevice>{});
    if (!job.devices.empty())
      launch.variables.emplace_back("CUDA_VISIBLE_DEVICES", device_list(launch.devices));
    const bool several = active.workload.jobs.size() > 1;
    launch.mode = active.daemon ? "mps" : several ? "naive" : "alone";
    if (!launch.devices.empty()) launch.need = need_of(job, *store_, options_);
    if (active.daemon) prove_limits(launch, job, *active.daemon, options_, active.proven);
    return launch;
  }

  /// What a device has for a job that starts now.
  [[nodiscard]] std::optional<Room> room_on(const ChosenDevice& device) const {
    if (!nvml_ || !device.number) return {};
    const auto memory = nvml_->memory(*device.number);
    if (!memory) return {};
    Room room{memory->free, memory->total - memory->reserved.value_or(Bytes())};
    const auto processes = nvml_->processes(*device.number);
    for (const Active& active : active_)
      for (const auto& [number, running] : active.running) {
        if (!running.launch.need || running.ended || !overlap({device}, running.launch.devices)) continue;
        Bytes used;
        if (processes)
          for (const nvml::Process& process : *processes)
            if (static_cast<pid_t>(process.pid) == running.watch->pid())
              used += process.used.value_or(Bytes());
        if (running.launch.need->bytes > used) room.promised += running.launch.need->bytes - used;
      }
    return room;
  }

  void start_waiting(Active& active) {
    std::vector<Launch> still;
    for (Launch& launch : active.waiting) {
      if (stopping_) continue;  // never started: its row stays as it was
      if (active.daemon_ended) {
        end_unstarted(launch.job, Outcome::refused, "the MPS daemon of its workload has ended");
        continue;
      }
      Admission admission = Admission::start;
      std::optional<Room> room;
      for (const ChosenDevice& device : launch.devices) {
        room = room_on(device);
        admission = std::max(admission, admit(launch.need, room));
      }
      if (admission == Admission::start) {
        start(active, std::move(launch));
        continue;
      }
      const std::string why =
          fmt::format("needs {} ({}), and {} of {} {}", text(launch.need->bytes), launch.need->source,
                      text(room->free - room->promised), text(room->total),
                      admission == Admission::never ? "is all there is" : "are free");
      if (admission == Admission::never || !options_.wait) {
        end_unstarted(launch.job, Outcome::refused, why);
        continue;
      }
      if (std::ranges::find(said_waiting_, launch.job) == said_waiting_.end()) {
        said_waiting_.push_back(launch.job);
        say(fmt::format("{} waits: it {}", title(launch.job), why));
      }
      still.push_back(std::move(launch));
    }
    active.waiting = std::move(still);
  }

  void start(Active& active, Launch launch) {
    const std::size_t index = launch.job;
    const JobSpec& job = jobs_[index];
    Result<std::string> id = create_record(job, launch, *store_, options_, nvml_.get());
    if (!id) return end_unstarted(index, Outcome::failed, id.error().text());
    const int number = ++last_number_;
    Watch::Place place;
    place.number = number;
    place.id = *id;
    place.artifacts = store_->artifacts(*id).value_or(directory_.path());
    place.socket = directory_.path() / fmt::format("{}.sock", number);
    place.variables = launch.variables;
    if (options_.variables_of)
      std::ranges::copy(options_.variables_of(*id), std::back_inserter(place.variables));
    place.inherit_input = options_.inherit_input;
    if (options_.show_output) {
      place.output = &output_;
      place.error = options_.output_to_error ? &output_ : &error_;
    }
    std::vector<unsigned> gpus;
    for (const ChosenDevice& device : launch.devices)
      if (device.number) gpus.push_back(*device.number);
    std::optional<SoloProfile> alone;
    if (launch.mode != "alone" && !launch.devices.empty())
      alone = solo_profile(*store_, fingerprint(job), launch.devices.front().name);
    if (alone) static_cast<void>(store_->change(*id, {.tags = {{"plimsoll.alone", alone->run}}}));
    recorder_->begin(number, *id, gpus, alone);
    if (Status noted = directory_.note_run(*id); !noted) say(noted.error().text());
    JobSpec wrapped = job;
    wrapped.command = profiled(options_.profiler, job.command, place.artifacts);
    Result<std::unique_ptr<Watch>> watch =
        Watch::start(wrapped, options_.watch, std::move(place), *recorder_);
    if (!watch) {
      Ended ended{.job = index,
                  .run = *id,
                  .outcome = Outcome::failed,
                  .reason = watch.error().text(),
                  .exit_code = 127};
      recorder_->finish(number, end_of(ended), {}, milliseconds(0));
      not_started_.emplace(number, std::move(ended));
      return;
    }
    sampling_->watch({number, (*watch)->pid(), gpus});
    if (listener_.started) listener_.started(index, *id);
    Running running;
    running.watch = *std::move(watch);
    running.launch = std::move(launch);
    running.started = Clock::now();
    active.running.emplace(number, std::move(running));
  }

  void end_unstarted(std::size_t job, Outcome outcome, const std::string& reason) {
    Ended ended{.job = job, .outcome = outcome, .reason = reason, .exit_code = 3};
    report(std::move(ended));
  }

  void report(Ended ended) {
    if (listener_.ended) listener_.ended(ended);
    result_.ended.push_back(std::move(ended));
  }

  /// What a record cannot do without.
  static store::Change end_of(const Ended& ended) {
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

  static store::Change rest_of(const Watch& watch) {
    store::Change change;
    change.params = watch.params();
    if (watch.metrics_dropped() > 0)
      change.tags["plimsoll.metrics_dropped"] = fmt::format("{}", watch.metrics_dropped());
    if (watch.metrics_unreadable() > 0)
      change.tags["plimsoll.metrics_unreadable"] = fmt::format("{}", watch.metrics_unreadable());
    if (watch.log_failed()) change.tags["plimsoll.log"] = "incomplete: the disk did not take all of it";
    return change;
  }

  /// One wait for whatever comes first, and what follows from it.
  void serve() {
    Interests interests;
    interests.push_back({signals_.descriptor(), POLLIN, [this] { take_signals(); }});
    interests.push_back({recorder_->descriptor(), POLLIN, [this] { recorder_->drain(); }});
    output_.collect(interests);
    error_.collect(interests);
    const auto now = Clock::now();
    // Someone waits for memory that others, of whom no event comes, may give back.
    auto until = now + (any_waiting() ? milliseconds(500) : milliseconds(10'000));
    for (Active& active : active_) {
      if (active.daemon && !active.daemon_ended)
        interests.push_back({active.daemon->exit_descriptor(), POLLIN, [] {}});
      for (auto& [number, running] : active.running) {
        if (running.ended) continue;
        running.watch->collect(interests);
        until = std::min(until, running.watch->next(now));
        if (!running.asking && !running.client_seen) until = std::min(until, now + milliseconds(1000));
      }
    }
    wait_on(interests, std::chrono::ceil<milliseconds>(until - now));
    for (Active& active : active_) proceed(active);
    tell_troubles();
    take_finished();
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

  [[nodiscard]] bool any_waiting() const {
    return std::ranges::any_of(active_, [](const Active& active) { return !active.waiting.empty(); });
  }

  void proceed(Active& active) {
    const auto now = Clock::now();
    if (active.daemon && !active.daemon_ended && active.daemon->has_ended()) {
      active.daemon_ended = true;
      say("the MPS daemon has ended; its clients will fail");
      for (auto& [number, running] : active.running) running.watch->note_daemon_ended();
    }
    for (auto& [number, running] : active.running) {
      if (running.ended) continue;
      running.watch->acknowledge();
      ask_about(active, running, now);
      const bool over = running.watch->proceed(now);
      for (const pid_t orphan : running.watch->take_orphans()) {
        sampling_->adopt(number, orphan);
        if (!over && !stopping_ && running.watch->place().output != nullptr)
          say(fmt::format("the command has ended, but a process that it started ({}) runs on and is watched",
                          orphan));
      }
      if (over) end(number, running);
    }
  }

  /// Slow questions, once the command has run for a moment.
  void ask_about(Active& active, Running& running, Clock::time_point now) {
    if (!running.asking && now - running.started > milliseconds(1500)) {
      running.asking = std::make_unique<Asking>();
      Asking* asking = running.asking.get();
      asking->thread = std::jthread([asking, job = running.watch->job()] {
        asking->answer = python_versions(job);
        asking->done = true;
      });
    }
    if (active.daemon && !running.client_seen && running.watch->metrics() > 0) {
      running.client_seen = true;
      if (const auto clients = active.daemon->ask("ps"))
        static_cast<void>(
            store_->change(running.watch->place().id, {.tags = {{"plimsoll.mps.clients", *clients}}}));
      for (const pid_t server : active.daemon->servers()) sampling_->ignore(server);
    }
    if (!active.daemon && running.asking) running.client_seen = true;
  }

  void end(int number, Running& running) {
    const Watch& watch = *running.watch;
    const Evidence evidence = watch.evidence();
    Ending ending = judge(evidence);
    Ended ended{.job = running.launch.job,
                .run = watch.place().id,
                .outcome = ending.outcome,
                .reason = std::move(ending.reason),
                .exit_code = evidence.exit_code,
                .signal = evidence.signal,
                .elapsed = Seconds(std::chrono::duration<double>(Clock::now() - running.started).count()),
                .retried = running.launch.retry};
    store::Change rest = rest_of(watch);
    if (running.asking && running.asking->done)
      rest.tags.merge(answer_of(*running.asking, watch.place().artifacts));
    else if (running.asking)
      late_.push_back({watch.place().id, watch.place().artifacts, std::move(running.asking)});
    sampling_->forget(number);
    // The sampler reads a run that it is to forget once more; that frame is part of the record.
    recorder_->finish(number, end_of(ended), std::move(rest),
                      milliseconds(static_cast<int>(1200 / options_.rate) + 20));
    for (const std::string& trouble : keep_files(watch.job(), watch.artifacts(), watch.place().artifacts))
      warn(trouble);
    if (const std::uint64_t count = watch.metrics_unreadable(); count > 0)
      warn(
          fmt::format("{} metric{} that the command printed could not be read and {} not in the record; {}{}",
                      count, count == 1 ? "" : "s", count == 1 ? "is" : "are",
                      count == 1 ? "" : "the first: ", watch.first_unreadable()));
    running.ended = std::move(ended);
  }

  void take_finished() {
    for (Recorder::Finished& finished : recorder_->take_finished()) {
      if (const auto found = not_started_.find(finished.run); found != not_started_.end()) {
        if (!finished.kept) found->second.unkept = finished.kept.error();
        report(std::move(found->second));
        not_started_.erase(found);
        continue;
      }
      for (Active& active : active_) {
        const auto found = active.running.find(finished.run);
        if (found == active.running.end()) continue;
        Ended ended = *std::move(found->second.ended);
        if (!finished.kept) ended.unkept = finished.kept.error();
        ended.metrics_lost = finished.metrics_lost + found->second.watch->metrics_dropped();
        const bool again = options_.retry_out_of_memory && ended.outcome == Outcome::cuda_out_of_memory &&
                           !ended.retried && !stopping_;
        if (again) {
          say(fmt::format("{} ran out of GPU memory; it runs once more, alone", title(ended.job)));
          Workload again_alone{{ended.job}, Sharing::naive, found->second.launch.devices, true, {}};
          again_alone.first = std::move(ended);
          pending_.insert(pending_.begin(), std::move(again_alone));
        } else {
          report(std::move(ended));
        }
        active.running.erase(found);
        break;
      }
    }
  }

  void take_signals() {
    for (const int signal : signals_.take()) {
      if (signal == SIGCONT) continue;
      if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT) stopping_ = true;
      for (Active& active : active_)
        for (auto& [number, running] : active.running)
          if (!running.ended) running.watch->pass_signal(signal);
      if (signal != SIGTSTP) continue;
      // Stops with them, and lets them go on when it does.
      ::raise(SIGSTOP);
      for (Active& active : active_)
        for (auto& [number, running] : active.running)
          if (!running.ended) running.watch->pass_signal(SIGCONT);
    }
  }

  const std::vector<JobSpec>& jobs_;
  const SessionOptions& options_;
  const Listener& listener_;
  SignalSource signals_;
  RuntimeDirectory directory_;
  Passage output_;
  Passage error_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<nvml::Library> nvml_;
  std::unique_ptr<nvml::Library> sampled_nvml_;  // outlives the sampling
  std::unique_ptr<telemetry::SamplingThread> sampling_;
  std::unique_ptr<Recorder> recorder_;
  std::vector<Workload> pending_;
  std::vector<Active> active_;
  std::vector<Late> late_;
  std::map<int, Ended> not_started_;  // their records are being closed
  std::vector<std::size_t> said_waiting_;
  int last_number_ = 0;
  bool stopping_ = false;
  SessionResult result_;
};

}  // namespace

Result<SessionResult> run_session(const std::vector<JobSpec>& jobs, const SessionOptions& options,
                                  const Listener& listener) {
  const auto base = RuntimeDirectory::base();
  if (!base) return std::unexpected(base.error());
  auto signals = SignalSource::open();
  if (!signals) return std::unexpected(std::move(signals).error());
  auto directory = RuntimeDirectory::make(*base);
  if (!directory) return std::unexpected(std::move(directory).error());
  Session session(jobs, options, listener, *std::move(signals), *std::move(directory));
  PLIMSOLL_TRY(session.open());
  return session.run();
}

}  // namespace plimsoll::running
