#include "top_watch.hpp"

#include <algorithm>
#include <condition_variable>
#include <optional>
#include <thread>
#include <utility>

#include "json_output.hpp"
#include "learn/run_target.hpp"
#include "queue_client.hpp"

namespace plimsoll {
namespace {

constexpr double kRate = 10;  // frames a second
constexpr std::size_t kMostRunsWatched = 100;

/// Where its tag says what the run is for; read again for every view, thinned out.
std::optional<learn::RunTarget> target_of(store::Store& store, const store::Run& run) {
  constexpr std::size_t kMostEvaluations = 1000;
  const std::optional<learn::Target> target = learn::target_of(run);
  if (!target || !run.metrics.contains(target->metric)) return std::nullopt;
  auto points = store.sample(run.id, target->metric, kMostEvaluations);
  if (!points || points->empty()) return std::nullopt;
  std::ranges::stable_sort(*points, {}, &store::Point::time);
  std::vector<learn::Evaluation> curve;
  for (const store::Point& point : *points)
    curve.push_back({std::max(0.0, static_cast<double>(point.time - run.start) * 1e-6), point.value});
  const double until = curve.back().at;
  return learn::run_target(*target, std::move(curve), until, true);
}

/// Some points of the metric that the run has told last, for a small picture.
std::vector<double> history_of(store::Store& store, const report::TopRun& run) {
  constexpr std::size_t kMostPoints = 60;
  if (!run.metric) return {};
  const auto spans = store.outline(run.id, run.metric->name, kMostPoints);
  std::vector<double> out;
  if (spans)
    for (const store::Span& span : *spans) out.push_back(span.mean);
  return out;
}

/// What the machine's queue has to do; nothing where none answers at once.
std::optional<report::TopQueue> queue_now() {
  constexpr std::size_t kNext = 20;
  const auto answer = ask_queue({{"type", "list"}, {"quick", true}}, Seconds(1));
  if (!answer) return std::nullopt;
  report::TopQueue out;
  for (const job::Json& job : (*answer)["jobs"]) {
    const std::string state = job.value("state", "");
    if (state == "held") ++out.held;
    if (state == "running" || state == "starting") ++out.running;
    const double speed = job.value("speed", -1.0), promised = job.value("promised_speed", 0.0);
    if (state == "running" && speed >= 0 && speed < job.value("promised_low", 0.0) && out.slow.size() < kNext)
      out.slow.push_back({.number = job.value("number", std::int64_t{0}),
                          .name = job.value("name", ""),
                          .run = job.value("run", ""),
                          .speed = speed,
                          .promised = promised});
    if (state != "waiting") continue;
    ++out.waiting;
    if (out.next.size() < kNext)
      out.next.push_back({.number = job.value("number", std::int64_t{0}),
                          .name = job.value("name", ""),
                          .why = job.value("waits_because", "")});
  }
  return out;
}

}  // namespace

void RunningRuns::put_into(report::TopView& view) {
  if (!store_) {
    auto opened = store::open(location_);
    if (!opened) {
      view.no_runs = opened.error().text();
      return;
    }
    store_ = *std::move(opened);
  }
  const auto found = store_->search({.filter = "attributes.status = 'RUNNING'", .limit = kMostRunsWatched});
  if (!found) {
    view.no_runs = found.error().text();
    return;
  }
  for (const store::Run& run : *found) {
    report::TopRun& shown = view.runs.emplace_back(report::top_run(run, view.time));
    shown.target = target_of(*store_, run);
    shown.history = history_of(*store_, shown);
  }
}

TopWatch::TopWatch(nvml::Library* library, std::string no_gpu, const std::string& store)
    : figures_(library, std::move(no_gpu)),
      runs_(store),
      thread_(telemetry::Sampler({.rate = kRate, .nvml = library, .devices = figures_.devices()}), kRate) {}

report::TopView TopWatch::view() {
  figures_.add(thread_.take());
  report::TopView out = figures_.view();
  runs_.put_into(out);
  out.queue = queue_now();
  return out;
}

struct SharedTopWatch::Watched {
  explicit Watched(const std::string& store)
      : opened(nvml::open()),
        watch(opened ? opened->get() : nullptr, opened ? "" : opened.error().text(), store) {}
  decltype(nvml::open()) opened;
  TopWatch watch;
};

SharedTopWatch::SharedTopWatch(std::string store)
    : store_(std::move(store)), thread_([this](const std::stop_token& stop) {
        constexpr std::chrono::seconds kKept{30};
        std::unique_lock lock(mutex_);
        while (!stop.stop_requested()) {
          news_.wait_for(lock, stop, kKept / 3, [] { return false; });
          if (watched_ && Clock::now() - asked_ > kKept) watched_.reset();
        }
      }) {}

SharedTopWatch::~SharedTopWatch() = default;

Result<std::string> SharedTopWatch::now() {
  constexpr std::chrono::milliseconds kFirstView{1100}, kHolds{900};
  std::unique_lock lock(mutex_);
  asked_ = Clock::now();
  if (!watched_) {
    watched_ = std::make_unique<Watched>(store_);
    last_.clear();
    // Rates and activity lie between two readings; the second comes after this.
    std::this_thread::sleep_for(kFirstView);
  }
  if (last_.empty() || Clock::now() - made_ > kHolds) {
    last_ = json_text(report::top_json(watched_->watch.view()));
    made_ = Clock::now();
  }
  return last_;
}

}  // namespace plimsoll
