#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "command.hpp"
#include "full_screen.hpp"
#include "json_output.hpp"
#include "learn/run_target.hpp"
#include "nvml/library.hpp"
#include "queue_client.hpp"
#include "report/top_view.hpp"
#include "store/store.hpp"
#include "telemetry/sampling_thread.hpp"
#include "top_figures.hpp"

namespace plimsoll {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

struct TopOptions {
  double interval = 1;
  std::string store;
  bool once = false, json = false;
};

constexpr double kRate = 10;  // frames a second
constexpr milliseconds kFirstView{1000};
constexpr int kWidthOfFiles = 100;
constexpr char kControlC = 3;
constexpr char kControlL = 12;
constexpr char kControlZ = 26;

/// The runs under way, as their watchers last stored them. The store is opened when asked, and kept.
class RunningRuns {
 public:
  explicit RunningRuns(std::string location) : location_(std::move(location)) {}

  void put_into(report::TopView& view) {
    if (!store_) {
      auto opened = store::open(location_);
      if (!opened) {
        view.no_runs = opened.error().text();
        return;
      }
      store_ = *std::move(opened);
    }
    const auto found = store_->search({.filter = "attributes.status = 'RUNNING'", .limit = 100});
    if (!found) {
      view.no_runs = found.error().text();
      return;
    }
    for (const store::Run& run : *found) {
      view.runs.push_back(report::top_run(run, view.time));
      view.runs.back().target = target_of(run);
    }
  }

 private:
  /// Where its tag says what the run is for; read again for every view, thinned out.
  [[nodiscard]] std::optional<learn::RunTarget> target_of(const store::Run& run) const {
    constexpr std::size_t kMostEvaluations = 1000;
    const std::optional<learn::Target> target = learn::target_of(run);
    if (!target || !run.metrics.contains(target->metric)) return std::nullopt;
    auto points = store_->sample(run.id, target->metric, kMostEvaluations);
    if (!points || points->empty()) return std::nullopt;
    std::ranges::stable_sort(*points, {}, &store::Point::time);
    std::vector<learn::Evaluation> curve;
    for (const store::Point& point : *points)
      curve.push_back({std::max(0.0, static_cast<double>(point.time - run.start) * 1e-6), point.value});
    const double until = curve.back().at;
    return learn::run_target(*target, std::move(curve), until, true);
  }

  std::string location_;
  std::unique_ptr<store::Store> store_;
};

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
    if (state != "waiting") continue;
    ++out.waiting;
    if (out.next.size() < kNext)
      out.next.push_back({.number = job.value("number", std::int64_t{0}),
                          .name = job.value("name", ""),
                          .why = job.value("waits_because", "")});
  }
  return out;
}

/// Sampling, and all that is shown of it.
class Watch {
 public:
  Watch(nvml::Library* library, std::string no_gpu, const std::string& store)
      : figures_(library, std::move(no_gpu)),
        runs_(store),
        thread_(telemetry::Sampler({.rate = kRate, .nvml = library, .devices = figures_.devices()}), kRate) {}

  report::TopView view() {
    figures_.add(thread_.take());
    report::TopView out = figures_.view();
    runs_.put_into(out);
    out.queue = queue_now();
    return out;
  }

 private:
  TopFigures figures_;
  RunningRuns runs_;
  telemetry::SamplingThread thread_;
};

Result<int> watch_on_screen(Watch& watch, const TopOptions& options, bool color) {
  auto screen = FullScreen::open();
  if (!screen) return std::unexpected(screen.error());
  report::TopView view;
  bool paused = false;
  const auto draw = [&] {
    const FullScreen::Size size = screen->size();
    view.paused = paused;
    screen->show(
        report::top_lines(view, {.width = size.width, .height = size.height, .color = color, .keys = true}));
  };
  // The first view comes soon, with what is known by then.
  Clock::time_point due = Clock::now() + milliseconds(300);
  for (;;) {
    const auto left = std::chrono::duration_cast<milliseconds>(due - Clock::now());
    const FullScreen::Happened happened = screen->wait(std::max(left, milliseconds(0)));
    switch (happened.event) {
      case FullScreen::Event::ended: return 0;
      case FullScreen::Event::resized: draw(); break;
      case FullScreen::Event::key:
        if (happened.key == 'q' || happened.key == 'Q' || happened.key == kControlC) return 0;
        if (happened.key == ' ') paused = !paused;
        if (happened.key == kControlZ) screen->suspend();
        if (happened.key == ' ' || happened.key == kControlZ || happened.key == kControlL) draw();
        break;
      case FullScreen::Event::time: {
        report::TopView now = watch.view();  // also while paused, so that nothing is missing afterwards
        if (!paused) view = std::move(now);
        draw();
        due = Clock::now() + milliseconds(static_cast<int>(options.interval * 1000));
        break;
      }
    }
  }
}

Result<int> run(const TopOptions& options, const Invocation& invocation) {
  const auto opened = nvml::open();
  nvml::Library* library = opened ? opened->get() : nullptr;
  Watch watch(library, opened ? "" : opened.error().text(), options.store);
  const Terminal terminal = describe_terminal(STDOUT_FILENO, invocation.color);
  if (!options.once && !options.json && terminal.interactive)
    return watch_on_screen(watch, options, terminal.color);
  // Rates and activity lie between two readings; the second comes after this.
  std::this_thread::sleep_for(kFirstView + milliseconds(100));
  const report::TopView view = watch.view();
  if (options.json) {
    print_json(report::top_json(view));
    return 0;
  }
  for (const std::string& line :
       report::top_lines(view, {.width = terminal.width.value_or(kWidthOfFiles), .color = terminal.color}))
    fmt::print("{}\n", line);
  return 0;
}

}  // namespace

void add_top(CommandLine& app, Invocation& invocation) {
  auto options = std::make_shared<TopOptions>();
  CommandLine* command =
      app.add_subcommand("top", "Watch the GPUs, what really works on them, and the runs under way");
  command->add_option("--interval", options->interval, "Seconds between two views (default: 1)")
      ->in_range(0.1, 3600.0)
      ->option_text("SECONDS");
  command
      ->add_option(
          "--store", options->store,
          "The store that the runs are in (default: PLIMSOLL_STORE, else plimsoll.db in your data folder)")
      ->option_text("PATH");
  auto* json = command->add_flag("--json", options->json, "Print one JSON document after a second, and end");
  command->add_flag("--once", options->once, "Print one view as text after a second, and end")
      ->excludes(json);
  command->footer(
      "Keys: q quits, space pauses.\n"
      "Examples:\n"
      "  plimsoll top\n"
      "  plimsoll top --interval 0.2\n"
      "  plimsoll top --once");
  command->callback([options, &invocation] {
    invocation.run = [options, &invocation] { return run(*options, invocation); };
  });
}

}  // namespace plimsoll
