#include "run/recorder.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include <nlohmann/json.hpp>
#include <sys/eventfd.h>

#include "base/file_descriptor.hpp"
#include "run/store_troubles.hpp"
#include "store/host_series.hpp"

namespace plimsoll::running {
namespace {

using Clock = std::chrono::steady_clock;
using telemetry::SamplingThread;

constexpr const char* kTroubleTag = "plimsoll.store.trouble";

/// Steps a second over the last few seconds.
class StepRate {
 public:
  void add(store::Time time, std::int64_t step) {
    if (!recent_.empty() && step < recent_.back().second)
      recent_.clear();  // another metric, or a fresh start
    // A thousand of them tell the rate, however many come.
    if (!recent_.empty() && time - recent_.back().first < kSpan / 1000) return;
    recent_.emplace_back(time, step);
    while (time - recent_.front().first > kSpan) recent_.pop_front();
  }
  [[nodiscard]] std::optional<double> value() const {
    if (recent_.size() < 2 || recent_.back().first - recent_.front().first < kSpan / 8) return {};
    return static_cast<double>(recent_.back().second - recent_.front().second) /
           (static_cast<double>(recent_.back().first - recent_.front().first) * 1e-6);
  }

 private:
  static constexpr store::Time kSpan = 8'000'000;
  std::deque<std::pair<store::Time, std::int64_t>> recent_;
};

struct Recorded {
  std::string id;
  std::vector<unsigned> gpus;
  std::optional<SoloProfile> alone;
  std::string home = {};  // the run's own host; empty: this one
  StepRate rate = {};
  std::vector<SamplingThread::Gap> gaps = {};
  std::uint64_t committed = 0;
  std::optional<std::string> lost = {};
  bool has_all_points = false;  // it has ended, and what still comes of the machine is not its own
  std::string troubles = {};    // for its record
  bool troubles_told = true;
};

/// A record that is being ended, and how far that has come.
struct Finish {
  int run = 0;
  store::Change end;
  store::Change rest;
  Clock::time_point points_due;  // when its last points have come
  Clock::time_point due;
  Clock::time_point give_up;
  bool end_settled = false;
  bool points_settled = false;
  bool summary_settled = false;
  Status kept = {};
};

struct Metric {
  int run = 0;
  std::string name;
  store::Point point;
  store::Description description;
  std::uint64_t number = 0;
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
  bool weights_due = false;  // a run has come that has one
  std::vector<Finished> finished;
  StoreTroubles troubles;
  std::atomic<std::size_t> waiting = 0;

  // The thread's own.
  Outbox metrics_out;
  Outbox samples_out;
  std::uint64_t numbers_seen = 0;
  std::vector<telemetry::Series> series;
  std::jthread thread;

  explicit State(const RecorderOptions& given)
      : options(given),
        troubles(given.most_pending, given.refused.patience),
        metrics_out(given.refused),
        samples_out(given.refused) {}

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
      metrics_out.add(run->second.id, metric.name, metric.description, metric.point, metric.number);
    }
    metrics.clear();
    numbers_seen = taken;
  }

  /// Every run gets what is its own, what is the machine's, and what is of its GPUs.
  void take_frames() {
    if (sampling == nullptr) return;
    SamplingThread::Taken frames = sampling->take();
    series.insert(series.end(), frames.new_series.begin(), frames.new_series.end());
    const std::scoped_lock lock(mutex);
    for (const telemetry::Frame& frame : frames.frames)
      for (const telemetry::Reading& value : frame.values) {
        const telemetry::Series& of = series.at(value.series);
        const store::Description description{of.unit, of.source, of.host};
        for (const auto& [number, run] : runs) {
          if (run.has_all_points || (of.run && *of.run != number)) continue;
          if (!of.run && of.gpu && std::ranges::find(run.gpus, *of.gpu) == run.gpus.end()) continue;
          const bool elsewhere = !run.home.empty() && run.home != of.host;
          samples_out.add(run.id, elsewhere ? store::host_series_name(of.host, of.name) : of.name,
                          description, {frame.time, 0, value.value});
        }
      }
    for (auto& [number, run] : runs) run.gaps.insert(run.gaps.end(), frames.gaps.begin(), frames.gaps.end());
    // The store has refused for long. Samples are given up before the command's own metrics.
    if (samples_out.points() > options.most_pending) samples_out.clear();
  }

  /// After each writing: what may be acknowledged, and what is to be told.
  void note(const Status& status) {
    const std::scoped_lock lock(mutex);
    bool news = false;
    for (Outbox* outbox : {&metrics_out, &samples_out})
      for (const auto& [run, text, lost] : troubles.note(outbox->take_refusals()))
        for (auto& [number, recorded] : runs) {
          if (recorded.id != run) continue;
          add_trouble(recorded, text);
          if (!lost || outbox != &metrics_out || recorded.lost) continue;
          recorded.lost = text;
          news = true;
        }
    if (!status)
      for (auto& [number, recorded] : runs) add_trouble(recorded, status.error().text());
    waiting = metrics_out.points() + samples_out.points();
    news = troubles.note(status, waiting > 0) || news;
    for (auto& [number, recorded] : runs) {
      const std::optional<std::uint64_t> missing = metrics_out.first_missing(recorded.id);
      const std::uint64_t committed = missing ? *missing - 1 : numbers_seen;
      news = news || committed != recorded.committed;
      recorded.committed = committed;
    }
    if (news) signal();
  }

  /// With the mutex held.
  static void add_trouble(Recorded& recorded, const std::string& text) {
    constexpr std::size_t kMost = 4000;  // a tag is no place for more
    if (recorded.troubles.size() > kMost || recorded.troubles.contains(text)) return;
    if (!recorded.troubles.empty()) recorded.troubles += '\n';
    recorded.troubles += text;
    recorded.troubles_told = false;
  }

  /// Puts what the store refused into the records, where it takes that.
  void tell_records() {
    std::vector<std::pair<std::string, std::string>> untold;
    {
      const std::scoped_lock lock(mutex);
      for (auto& [number, recorded] : runs)
        if (!std::exchange(recorded.troubles_told, true)) untold.emplace_back(recorded.id, recorded.troubles);
    }
    // One that is refused here comes once more with the end of the record.
    for (const auto& [id, text] : untold) std::ignore = store->change(id, {.tags = {{kTroubleTag, text}}});
  }

  bool write_metrics(bool all = false) {
    const Status done =
        all ? metrics_out.write_all(*store, Clock::now()) : metrics_out.write(*store, Clock::now());
    note(done);
    if (done) tell_records();
    return done.has_value();
  }

  bool write_samples(bool all = false) {
    take_frames();
    const Status done =
        all ? samples_out.write_all(*store, Clock::now()) : samples_out.write(*store, Clock::now());
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

  /// Status, time and outcome, whatever else there is. Where the outcome's words are refused together, status
  /// and time alone, then each word as far as it goes.
  Status keep_end(int run, const std::string& id, const store::Change& end) {
    Status kept = store->change(id, end);
    if (kept || kept.error().may_pass() || end.tags.empty()) return kept;
    if (!store->change(id, {.status = end.status, .end = end.end})) return kept;
    for (const auto& tag : end.tags)
      if (const Status told = store->change(id, {.tags = {tag}}); !told) {
        const std::scoped_lock lock(mutex);
        add_trouble(runs.at(run), fmt::format("{} is not recorded: {}", tag.first, told.error().text()));
      }
    return {};
  }

  /// What can be had of the summary; an error that may pass is worth another attempt.
  Status keep_summary(const std::string& id, const Finish& finish) {
    // Long histories are then in few pieces, whose outlines are at hand.
    if (const Status joined = store->compact(id); !joined && joined.error().may_pass()) return joined;
    const Result<store::Run> run = store->find(id);
    if (!run) return std::unexpected(run.error());
    const auto summary = summarise(*store, *run, finish.end.end.value_or(run->start));
    if (!summary) return std::unexpected(summary.error());
    return store->append(*summary);
  }

  Status keep_rest(const Recorded& recorded, const Finish& finish) {
    store::Change change = finish.rest;
    if (!recorded.gaps.empty()) change.tags["plimsoll.gaps"] = gaps_text(recorded.gaps);
    if (!recorded.troubles.empty()) change.tags[kTroubleTag] = recorded.troubles;
    if (const auto lost = metrics_out.lost(recorded.id).points; lost > 0)
      change.tags["plimsoll.metrics_lost"] = fmt::format("{}", lost);
    if (const auto lost = samples_out.lost(recorded.id).points; lost > 0)
      change.tags["plimsoll.samples_lost"] = fmt::format("{}", lost);
    // The params come by themselves: one that contradicts an earlier one is no reason to lose the others.
    const auto params = std::exchange(change.params, {});
    PLIMSOLL_TRY(store->change(recorded.id, change));
    for (const auto& param : params)
      if (const Status set = store->change(recorded.id, {.params = {param}}); !set && set.error().may_pass())
        return set;
    return {};
  }

  Recorded recorded_as(int run) {
    const std::scoped_lock lock(mutex);
    return runs.at(run);
  }

  /// The end first, then what it cannot do without, each step as far as it goes. An error: the store may take
  /// what is left later; where this is the last attempt, nothing is left.
  Status proceed(Finish& finish, bool last) {
    const std::string id = recorded_as(finish.run).id;
    // What is refused may be mended as well, for which there is less patience; what is gone is gone.
    const auto again = [&](const Status& done) {
      if (done || last || done.error().kind == Error::Kind::not_found) return false;
      return done.error().may_pass() || Clock::now() < finish.points_due + options.refused.patience;
    };
    if (!finish.end_settled) {
      finish.kept = keep_end(finish.run, id, finish.end);
      if (again(finish.kept)) {
        note(finish.kept);
        return finish.kept;
      }
      finish.end_settled = true;
    }
    if (!finish.points_settled) {
      const Error waits{"points are waiting", {}, {}, Error::Kind::unavailable};
      if (!last && Clock::now() < finish.points_due) return std::unexpected(waits);
      static_cast<void>(write_samples(true));
      static_cast<void>(write_metrics(true));
      if (!last && (metrics_out.holds(id) || samples_out.holds(id))) return std::unexpected(waits);
      const Error why{"the run had ended, and the store did not take them in time"};
      metrics_out.give_up(id, why);
      samples_out.give_up(id, why);
      note({});
      finish.points_settled = true;
      const std::scoped_lock lock(mutex);
      runs.at(finish.run).has_all_points = true;
    }
    if (!finish.summary_settled) {
      const Status done = keep_summary(id, finish);
      if (again(done)) return done;
      finish.summary_settled = true;
    }
    const Status done = keep_rest(recorded_as(finish.run), finish);
    return again(done) ? done : Status();
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
      const Status done = proceed(finish, last || now >= finish.give_up);
      const std::scoped_lock lock(mutex);
      if (!done) {
        const bool awaits_points = finish.end_settled && now < finish.points_due;
        finish.due = awaits_points ? finish.points_due : now + std::chrono::milliseconds(500);
        finishes.push_back(std::move(finish));
        continue;
      }
      const std::string id = runs.at(finish.run).id;
      finished.push_back({finish.run, std::move(finish.kept), metrics_out.lost(id).points});
      metrics_out.forget(id);
      samples_out.forget(id);
      runs.erase(finish.run);
      signal();
    }
  }

  void work(const std::stop_token&) {
    auto next_samples = Clock::now() + options.frames_interval;
    while (true) {
      bool last = false;
      bool weights = false;
      {
        std::unique_lock lock(mutex);
        // Asleep until there is something to do; then a moment longer, so that one commit takes many metrics.
        auto until = next_samples;
        if (waiting > 0) until = std::min(until, Clock::now() + options.refused.pause);
        wake.wait_until(lock, until,
                        [&] { return stopping || weights_due || !metrics.empty() || !finishes.empty(); });
        if (!stopping && (!metrics.empty() || !finishes.empty()))
          wake.wait_for(lock, options.metrics_interval, [&] { return stopping; });
        last = stopping;
        weights = std::exchange(weights_due, false);
        take_metrics();
      }
      if (weights) weigh_runs();
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
    : state_(std::make_unique<State>(options)) {
  state_->store = std::move(store);
  state_->sampling = sampling;
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

void Recorder::begin(int run, std::string id, std::vector<unsigned> gpus, std::optional<SoloProfile> alone,
                     std::string home) {
  const std::scoped_lock lock(state_->mutex);
  state_->weights_due = state_->weights_due || alone.has_value();
  state_->runs[run] = {
      .id = std::move(id), .gpus = std::move(gpus), .alone = std::move(alone), .home = std::move(home)};
  if (state_->weights_due) state_->wake.notify_all();
}

std::uint64_t Recorder::metric(int run, std::string name, store::Point point,
                               store::Description description) {
  const std::scoped_lock lock(state_->mutex);
  state_->metrics.push_back({run, std::move(name), point, std::move(description), ++state_->taken});
  if (state_->metrics.size() == 1) state_->wake.notify_all();
  return state_->taken;
}

std::uint64_t Recorder::committed(int run) const {
  const std::scoped_lock lock(state_->mutex);
  const auto found = state_->runs.find(run);
  return found == state_->runs.end() ? 0 : found->second.committed;
}

std::optional<std::string> Recorder::lost(int run) const {
  const std::scoped_lock lock(state_->mutex);
  const auto found = state_->runs.find(run);
  return found == state_->runs.end() ? std::nullopt : found->second.lost;
}

bool Recorder::congested() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->metrics.size() + state_->waiting > state_->options.most_pending;
}

void Recorder::finish(int run, store::Change end, store::Change rest, std::chrono::milliseconds delay) {
  const auto now = Clock::now();
  const std::scoped_lock lock(state_->mutex);
  state_->finishes.push_back(
      {run, std::move(end), std::move(rest), now + delay, now, now + delay + state_->options.patience});
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

std::vector<std::string> Recorder::take_troubles() {
  const std::scoped_lock lock(state_->mutex);
  return state_->troubles.take();
}

}  // namespace plimsoll::running
