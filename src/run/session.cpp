#include "run/session.hpp"

#include <algorithm>
#include <csignal>
#include <list>
#include <map>
#include <set>

#include <poll.h>

#include "nvml/library.hpp"
#include "run/job_hardware.hpp"
#include "run/job_json.hpp"
#include "run/signals.hpp"
#include "run/supervision.hpp"
#include "run/supervisor_client.hpp"

namespace plimsoll::running {
namespace {

/// Jobs that run together, under one supervisor.
struct Workload {
  std::vector<std::size_t> jobs;
  std::vector<ChosenDevice> devices = {};  // of all its jobs
};

struct Active {
  Workload workload;
  SupervisorClient client;
  std::map<std::string, std::size_t> runs = {};  // those that have started and not ended, with their jobs
  std::set<std::size_t> heard_of = {};           // jobs that have started, or never will
  bool finished = false;
  bool adopted = false;  // its places among the jobs are those of an earlier session
};

bool overlap(const std::vector<ChosenDevice>& a, const std::vector<ChosenDevice>& b) {
  return std::ranges::any_of(a, [&](const ChosenDevice& device) {
    return std::ranges::any_of(b, [&](const ChosenDevice& other) { return other.uuid == device.uuid; });
  });
}

/// By experiment and workload; a job without one is one by itself.
std::vector<Workload> workloads_of(const std::vector<JobSpec>& jobs) {
  std::vector<Workload> out;
  std::map<std::pair<std::string, std::string>, std::size_t> places;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    std::size_t place = out.size();
    if (!jobs[i].workload.empty())
      place = places.try_emplace({jobs[i].experiment, jobs[i].workload}, place).first->second;
    if (place == out.size()) out.emplace_back();
    out[place].jobs.push_back(i);
  }
  return out;
}

/// Which devices each takes: those that share one run one after the other.
Status find_devices(const std::vector<JobSpec>& jobs, std::vector<Workload>& workloads) {
  const auto opened = nvml::open();
  const auto devices = devices_of(jobs, opened ? opened->get() : nullptr);
  if (!devices) return std::unexpected(devices.error());
  for (Workload& workload : workloads)
    for (const std::size_t job : workload.jobs)
      for (const ChosenDevice& device : (*devices)[job])
        if (std::ranges::find(workload.devices, device) == workload.devices.end())
          workload.devices.push_back(device);
  return {};
}

class Session {
 public:
  Session(const Order& order, const Listener& listener, Adopted adopted, SignalSource signals,
          std::vector<Workload> workloads)
      : order_(order),
        listener_(listener),
        adopted_(std::move(adopted)),
        signals_(std::move(signals)),
        pending_(std::move(workloads)) {}

  Result<SessionResult> run() {
    while (!failure_) {
      if (!stopping_) activate();
      if (active_.empty() || failure_) break;
      serve();
    }
    // Those that are left when one could not be begun are not left alone.
    for (Active& active : active_) active.client.send_signal(SIGTERM);
    while (!active_.empty()) serve();
    if (failure_ && result_.ended.empty()) return std::unexpected(*std::move(failure_));
    result_.interrupted = stopping_;
    return std::move(result_);
  }

 private:
  /// In the order of the file; one passes another only where they share no device.
  void activate() {
    std::vector<ChosenDevice> taken;
    bool without_device = false;
    for (const Active& active : active_) {
      taken.insert(taken.end(), active.workload.devices.begin(), active.workload.devices.end());
      without_device = without_device || active.workload.devices.empty();
    }
    for (auto it = pending_.begin(); it != pending_.end() && !failure_;) {
      const bool free = it->devices.empty() ? !without_device : !overlap(it->devices, taken);
      taken.insert(taken.end(), it->devices.begin(), it->devices.end());
      without_device = without_device || it->devices.empty();
      if (!free) {
        ++it;
        continue;
      }
      Workload workload = std::move(*it);
      it = pending_.erase(it);
      start(std::move(workload));
    }
  }

  void start(Workload workload) {
    for (const std::size_t job : workload.jobs)
      if (const auto found = adopted_.find(job); found != adopted_.end()) {
        Result<SupervisorClient> client = SupervisorClient::connect(found->second);
        if (!client) break;
        active_.push_back({.workload = std::move(workload), .client = *std::move(client), .adopted = true});
        return;
      }
    Order order = order_;
    order.jobs.clear();
    for (const std::size_t job : workload.jobs) order.jobs.push_back(order_.jobs[job]);
    Result<SupervisorClient> client = SupervisorClient::launch(order);
    if (!client) {
      failure_ = std::move(client).error();
      return;
    }
    active_.push_back({.workload = std::move(workload), .client = *std::move(client)});
  }

  void serve() {
    std::vector<pollfd> descriptors{{signals_.descriptor(), POLLIN, 0}};
    for (const Active& active : active_) descriptors.push_back({active.client.descriptor(), POLLIN, 0});
    ::poll(descriptors.data(), descriptors.size(), -1);
    if (descriptors.front().revents != 0) take_signals();
    std::size_t place = 1;
    for (Active& active : active_)
      if (descriptors[place++].revents != 0) hear(active);
    active_.remove_if([](const Active& active) { return !active.client.is_open(); });
  }

  void hear(Active& active) {
    for (const job::Json& message : active.client.receive()) obey(active, message);
    if (active.client.is_open()) return;
    active.client.wait();
    if (active.finished) return active.adopted && !stopping_ ? put_back(active) : void();
    // It was killed, with what it ran.
    for (const auto& [run, job] : active.runs)
      report({.job = job,
              .run = run,
              .outcome = Outcome::lost,
              .reason = "the supervisor of the command was killed; the next start of a run marks its record",
              .signal = SIGKILL});
    if (stopping_) return;
    if (active.heard_of.empty()) {
      failure_ = Error{"the supervisor of the command ended before it began", {}, {}, Error::Kind::internal};
      return;
    }
    for (const std::size_t job : active.workload.jobs)
      if (!active.heard_of.contains(job))
        report({.job = job,
                .outcome = Outcome::lost,
                .reason = "the supervisor of its workload was killed before it started",
                .signal = SIGKILL});
  }

  /// Jobs that the supervisor that was followed knew nothing of, or refused.
  void put_back(const Active& active) {
    Workload left{.jobs = active.workload.jobs, .devices = active.workload.devices};
    std::erase_if(left.jobs, [&](std::size_t job) { return active.heard_of.contains(job); });
    for (const std::size_t job : left.jobs) adopted_.erase(job);
    if (!left.jobs.empty()) pending_.insert(pending_.begin(), std::move(left));
  }

  void obey(Active& active, const job::Json& message) {
    const std::string type = type_of(message);
    const auto text = [&](const char* key) {
      const auto found = message.find(key);
      return found == message.end() ? std::string() : job::text_of(*found).value_or("");
    };
    if (type == "say" && listener_.say) listener_.say(text("text"));
    if (type == "warn" && listener_.warn) listener_.warn(text("text"));
    if (type == "started") {
      const std::optional<std::size_t> job = job_of(active, message);
      if (!job) return;
      active.runs[text("run")] = *job;
      active.heard_of.insert(*job);
      if (listener_.started) listener_.started(*job, text("run"));
    }
    if (type == "ended") {
      Result<Ended> ended = read_ended(message);
      if (!ended) return;
      if (const auto run = active.runs.find(ended->run); run != active.runs.end()) {
        ended->job = run->second;
        active.runs.erase(run);
      } else if (!active.adopted && ended->job < active.workload.jobs.size()) {  // never started
        ended->job = active.workload.jobs[ended->job];
      } else {
        return;
      }
      active.heard_of.insert(ended->job);
      report(*std::move(ended));
    }
    if (type == "failed") {
      active.finished = true;
      const auto error = message.find("error");
      if (error != message.end()) failure_ = read_error(*error);
    }
    if (type == "finished") {
      active.finished = true;
      std::optional<Error> ignored;
      const job::Fields fields(message, "finished", ignored);
      stopping_ = stopping_ || fields.flag("interrupted");
      result_.frames += fields.natural("frames");
      result_.sampler_cpu_seconds += fields.not_negative("cpu_seconds");
    }
  }

  /// The job that a supervisor says it has started; of one that is adopted, the first of that workload that
  /// is like it.
  std::optional<std::size_t> job_of(const Active& active, const job::Json& message) const {
    if (!active.adopted) {
      const auto index = message.find("job");
      if (index == message.end() || !index->is_number_unsigned()) return {};
      const auto job = index->get<std::size_t>();
      return job < active.workload.jobs.size() ? std::optional(active.workload.jobs[job]) : std::nullopt;
    }
    const auto described = message.find("spec");
    const Result<JobSpec> spec = described == message.end() ? fail("absent") : read_job_spec(*described);
    if (!spec) return {};
    for (const std::size_t job : active.workload.jobs)
      if (order_.jobs[job] == *spec && !active.heard_of.contains(job)) return job;
    return {};
  }

  void report(Ended ended) {
    if (listener_.ended) listener_.ended(ended);
    result_.ended.push_back(std::move(ended));
  }

  void take_signals() {
    for (const int signal : signals_.take()) {
      if (signal == SIGCONT) continue;
      if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT) stopping_ = true;
      for (Active& active : active_) active.client.send_signal(signal);
      if (signal != SIGTSTP) continue;
      // Stops with them, and lets them go on when it does.
      ::raise(SIGSTOP);
      for (Active& active : active_) active.client.send_signal(SIGCONT);
    }
  }

  const Order& order_;
  const Listener& listener_;
  Adopted adopted_;
  SignalSource signals_;
  std::vector<Workload> pending_;
  std::list<Active> active_;
  std::optional<Error> failure_;
  bool stopping_ = false;
  SessionResult result_;
};

}  // namespace

Result<SessionResult> run_session(const Order& order, const Listener& listener, const Adopted& adopted) {
  std::vector<Workload> workloads = workloads_of(order.jobs);
  // One alone leaves that to its supervisor.
  if (workloads.size() > 1) PLIMSOLL_TRY(find_devices(order.jobs, workloads));
  auto signals = SignalSource::open();
  if (!signals) return std::unexpected(std::move(signals).error());
  Session session(order, listener, adopted, *std::move(signals), std::move(workloads));
  return session.run();
}

}  // namespace plimsoll::running
