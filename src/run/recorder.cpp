#include "run/recorder.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include <nlohmann/json.hpp>
#include <sys/eventfd.h>

#include "base/file_descriptor.hpp"

namespace plimsoll::running {
namespace {

using Clock = std::chrono::steady_clock;
using telemetry::SamplingThread;

/// Points on their way to the store, by run and metric; in the order in which they came.
class Pending {
 public:
  void add(const std::string& run, const std::string& metric, const store::Description& description,
           store::Point point) {
    const auto [it, added] = places_.try_emplace(std::pair(run, metric), batches_.size());
    if (added) batches_.push_back({run, metric, description, {}});
    batches_[it->second].points.push_back(point);
    ++points_;
  }
  [[nodiscard]] std::size_t points() const { return points_; }
  [[nodiscard]] const std::vector<store::Batch>& batches() const { return batches_; }
  void clear() {
    batches_.clear();
    places_.clear();
    points_ = 0;
  }

 private:
  std::vector<store::Batch> batches_;
  std::map<std::pair<std::string, std::string>, std::size_t> places_;
  std::size_t points_ = 0;
};

/// Steps a second over the last few seconds.
class StepRate {
 public:
  void add(store::Time time, std::int64_t step) {
    if (!recent_.empty() && (step < recent_.back().second || time <= recent_.back().first)) {
      if (step < recent_.back().second) recent_.clear();  // another metric, or a fresh start
      if (!recent_.empty()) return;
    }
    recent_.emplace_back(time, step);
    std::erase_if(recent_, [&](const auto& old) { return time - old.first > kSpan; });
  }
  [[nodiscard]] std::optional<double> value() const {
    if (recent_.size() < 2 || recent_.back().first - recent_.front().first < kSpan / 8) return {};
    return static_cast<double>(recent_.back().second - recent_.front().second) /
           (static_cast<double>(recent_.back().first - recent_.front().first) * 1e-6);
  }

 private:
  static constexpr store::Time kSpan = 8'000'000;
  std::vector<std::pair<store::Time, std::int64_t>> recent_;
};

struct Recorded {
  std::string id;
  std::vector<unsigned> gpus;
  std::optional<SoloProfile> alone;
  StepRate rate;
  std::vector<SamplingThread::Gap> gaps;
};

struct Finish {
  int run = 0;
  store::Change change;
  Clock::time_point due;
  Clock::time_point give_up;
};

struct Metric {
  int run = 0;
  std::string name;
  store::Point point;
  store::Description description;
};

}  // namespace

struct Recorder::State {
  std::unique_ptr<store::Store> store;
  SamplingThread* sampling;
  RecorderOptions options;
  FileDescriptor event{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};

  mutable std::mutex mutex;
  std::condition_variable wake;
  bool stopping = false;
  std::map<int, Recorded> runs;
  std::vector<Metric> metrics;  // not yet taken by the thread
  std::uint64_t taken = 0;      // the number of the last metric
  std::vector<Finish> finishes;
  std::vector<Finished> finished;
  std::optional<Error> trouble;
  std::atomic<std::uint64_t> committed = 0;
  std::atomic<std::size_t> waiting = 0;

  // The thread's own.
  Pending pending_metrics;
  std::uint64_t pending_number = 0;
  Pending pending_samples;
  std::vector<telemetry::Series> series;
  std::size_t lost_samples = 0;
  std::jthread thread;

  void signal() const {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(event.get(), &one, sizeof one);
  }

  /// With the mutex held.
  void take_metrics() {
    for (Metric& metric : metrics) {
      const auto run = runs.find(metric.run);
      if (run == runs.end()) continue;
      if (metric.point.step > 0) run->second.rate.add(metric.point.time, metric.point.step);
      pending_metrics.add(run->second.id, metric.name, metric.description, metric.point);
    }
    metrics.clear();
    pending_number = taken;
  }

  /// Every run gets what is its own, what is the machine's, and what is of its GPUs.
  void take_frames() {
    if (sampling == nullptr) return;
    SamplingThread::Taken frames = sampling->take();
    series.insert(series.end(), frames.new_series.begin(), frames.new_series.end());
    const std::scoped_lock lock(mutex);
    for (const telemetry::Frame& frame : frames.frames)
      for (const telemetry::Value& value : frame.values) {
        const telemetry::Series& of = series.at(value.series);
        const store::Description description{of.unit, of.source};
        for (const auto& [number, run] : runs) {
          if (of.run && *of.run != number) continue;
          if (!of.run && of.gpu && std::ranges::find(run.gpus, *of.gpu) == run.gpus.end()) continue;
          pending_samples.add(run.id, of.name, description, {frame.time, 0, value.value});
        }
      }
    for (auto& [number, run] : runs) run.gaps.insert(run.gaps.end(), frames.gaps.begin(), frames.gaps.end());
    if (pending_samples.points() > options.most_pending) {
      // The store has refused for long. Samples are given up before the command's own metrics.
      lost_samples += pending_samples.points();
      pending_samples.clear();
    }
  }

  Status append(Pending& pending) {
    if (pending.batches().empty()) return {};
    Status done = store->append(pending.batches());
    if (!done && !done.error().may_pass()) {
      // One that can never be taken (its run was purged) must not keep the others out.
      for (const store::Batch& batch : pending.batches()) {
        Status alone = store->append({&batch, 1});
        if (!alone && alone.error().may_pass()) return alone;
      }
      done = {};
    }
    if (done) pending.clear();
    return done;
  }

  void note(const Status& status) {
    const std::scoped_lock lock(mutex);
    if (status)
      trouble.reset();
    else
      trouble = status.error();
    waiting = pending_metrics.points() + pending_samples.points();
  }

  bool write_metrics() {
    const bool any = !pending_metrics.batches().empty();
    const Status done = append(pending_metrics);
    note(done);
    if (!done) return false;
    if (committed.exchange(pending_number) != pending_number || any) signal();
    return true;
  }

  bool write_samples() {
    take_frames();
    const Status done = append(pending_samples);
    note(done);
    return done.has_value();
  }

  /// A shared GPU's activity is split by how active each run is alone and how fast it goes now.
  void weigh_runs() {
    if (sampling == nullptr) return;
    struct Weight {
      int run;
      unsigned gpu;
      double value;
    };
    std::vector<Weight> weights;  // given without the mutex: the sampler may be busy with a driver
    std::unique_lock lock(mutex);
    for (const auto& [number, run] : runs) {
      if (!run.alone) continue;
      const auto now = run.rate.value();
      const bool comparable = now && run.alone->steps_per_second && *run.alone->steps_per_second > 0;
      const double progress = comparable ? *now / *run.alone->steps_per_second : 1;
      for (const unsigned gpu : run.gpus) weights.push_back({number, gpu, run.alone->sm_activity * progress});
    }
    lock.unlock();
    for (const Weight& weight : weights) sampling->weigh(weight.run, weight.gpu, weight.value);
  }

  static std::string gaps_text(const std::vector<SamplingThread::Gap>& gaps) {
    constexpr std::size_t kMost = 300;  // a tag is no place for more
    nlohmann::json out = nlohmann::json::array();
    for (std::size_t i = 0; i < std::min(gaps.size(), kMost); ++i) out.push_back({gaps[i].from, gaps[i].to});
    return out.dump();
  }

  Status end_record(const Finish& finish) {
    Recorded recorded;
    {
      const std::scoped_lock lock(mutex);
      recorded = runs.at(finish.run);
    }
    Result<store::Run> run = store->find(recorded.id);
    if (!run) return std::unexpected(std::move(run).error());
    const store::Time end = finish.change.end.value_or(run->start);
    auto summary = summarise(*store, *run, end);
    if (!summary) return std::unexpected(std::move(summary).error());
    PLIMSOLL_TRY(store->append(*summary));
    store::Change change = finish.change;
    if (!recorded.gaps.empty()) change.tags["plimsoll.gaps"] = gaps_text(recorded.gaps);
    if (lost_samples > 0) change.tags["plimsoll.samples_lost"] = fmt::format("{}", lost_samples);
    // The params come by themselves: one that contradicts an earlier one is no reason to lose the end.
    const auto params = std::exchange(change.params, {});
    PLIMSOLL_TRY(store->change(recorded.id, change));
    for (const auto& param : params)
      if (const Status set = store->change(recorded.id, {.params = {param}}); !set && set.error().may_pass())
        return set;
    return store->compact(recorded.id);
  }

  /// Ends the records that are due and lets the caller know.
  void end_records(Clock::time_point now, bool last) {
    std::vector<Finish> due;
    {
      const std::scoped_lock lock(mutex);
      const auto later =
          std::ranges::stable_partition(finishes, [&](const Finish& f) { return f.due <= now || last; });
      due.assign(finishes.begin(), later.begin());
      finishes.erase(finishes.begin(), later.begin());
      if (!due.empty()) take_metrics();  // what came while the store was busy belongs to the record
    }
    for (Finish& finish : due) {
      Status kept =
          write_samples() && write_metrics() ? end_record(finish) : Status(std::unexpected(*trouble));
      note(kept);
      const bool retry = !kept && !last && kept.error().may_pass() && now < finish.give_up;
      const std::scoped_lock lock(mutex);
      if (retry) {
        finish.due = now + std::chrono::milliseconds(500);
        finishes.push_back(std::move(finish));
        continue;
      }
      runs.erase(finish.run);
      finished.push_back({finish.run, std::move(kept)});
      signal();
    }
  }

  void work(const std::stop_token&) {
    auto next_samples = Clock::now() + options.frames_interval;
    while (true) {
      bool last = false;
      {
        std::unique_lock lock(mutex);
        // Asleep until there is something to do; then a moment longer, so that one commit takes many metrics.
        wake.wait_until(lock, next_samples,
                        [&] { return stopping || !metrics.empty() || !finishes.empty(); });
        if (!stopping && (!metrics.empty() || !finishes.empty()))
          wake.wait_for(lock, options.metrics_interval, [&] { return stopping; });
        last = stopping;
        take_metrics();
      }
      const bool healthy = write_metrics();
      const auto now = Clock::now();
      if (now >= next_samples || last) {
        weigh_runs();
        if (healthy)
          write_samples();
        else
          take_frames();
        next_samples = now + options.frames_interval;
      }
      end_records(now, last);
      if (last) return;
    }
  }
};

Recorder::Recorder(std::unique_ptr<store::Store> store, SamplingThread* sampling, RecorderOptions options)
    : state_(std::make_unique<State>()) {
  state_->store = std::move(store);
  state_->sampling = sampling;
  state_->options = options;
  state_->thread = std::jthread([state = state_.get()](const std::stop_token& token) { state->work(token); });
}

Recorder::~Recorder() {
  {
    const std::scoped_lock lock(state_->mutex);
    state_->stopping = true;
  }
  state_->wake.notify_all();
  state_->thread.join();
}

void Recorder::begin(int run, std::string id, std::vector<unsigned> gpus, std::optional<SoloProfile> alone) {
  if (alone && state_->sampling != nullptr)
    for (const unsigned gpu : gpus) state_->sampling->weigh(run, gpu, alone->sm_activity);
  const std::scoped_lock lock(state_->mutex);
  state_->runs[run] = {std::move(id), std::move(gpus), std::move(alone), {}, {}};
}

std::uint64_t Recorder::metric(int run, std::string name, store::Point point,
                               store::Description description) {
  const std::scoped_lock lock(state_->mutex);
  state_->metrics.push_back({run, std::move(name), point, std::move(description)});
  if (state_->metrics.size() == 1) state_->wake.notify_all();
  return ++state_->taken;
}

std::uint64_t Recorder::committed() const {
  return state_->committed;
}

bool Recorder::congested() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->metrics.size() + state_->waiting > state_->options.most_pending;
}

void Recorder::finish(int run, store::Change change, std::chrono::milliseconds delay) {
  const auto due = Clock::now() + delay;
  const std::scoped_lock lock(state_->mutex);
  state_->finishes.push_back({run, std::move(change), due, due + state_->options.patience});
  state_->wake.notify_all();
}

std::vector<Recorder::Finished> Recorder::take_finished() {
  const std::scoped_lock lock(state_->mutex);
  return std::exchange(state_->finished, {});
}

int Recorder::descriptor() const {
  return state_->event.get();
}

void Recorder::drain() const {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = ::read(state_->event.get(), &count, sizeof count);
}

std::optional<Error> Recorder::trouble() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->trouble;
}

}  // namespace plimsoll::running
