#include <algorithm>
#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/process.hpp"
#include "command.hpp"
#include "full_screen.hpp"
#include "json_output.hpp"
#include "nvml/library.hpp"
#include "report/top_view.hpp"
#include "top_watch.hpp"

namespace plimsoll {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

struct TopOptions {
  double interval = 1;
  std::string store;
  bool once = false, json = false;
};

constexpr milliseconds kFirstView{1000};
constexpr int kWidthOfFiles = 100;
constexpr char kControlC = 3;
constexpr char kControlZ = 26;

/// What keys do to the screen: a run is marked and stopped, once the question has been answered.
class Desk {
 public:
  explicit Desk(std::string store) : store_(std::move(store)) {}

  void show(report::TopView view) {
    view_ = std::move(view);
    const bool known = std::ranges::find(view_.runs, selected_, &report::TopRun::id) != view_.runs.end();
    if (!known && !asking_) selected_.clear();
  }
  /// False: to quit.
  bool press(char key) {
    constexpr char kEscape = 27;
    if (key == kEscape || (escape_ == 1 && key == '[')) {  // an arrow comes as three
      escape_ = key == kEscape ? 1 : 2;
      if (key == kEscape) asking_ = false;
      return true;
    }
    if (std::exchange(escape_, 0) == 2) {
      move(key == 'A' ? -1 : key == 'B' ? 1 : 0);
      return true;
    }
    if (asking_) {
      asking_ = false;
      if (key == 'y' || key == 'Y') stop();
      return key != kControlC;
    }
    note_.clear();
    if (key == 'q' || key == 'Q' || key == kControlC) return false;
    if (key == ' ') paused_ = !paused_;
    if (key == 'j') move(1);
    if (key == 'k') move(-1);
    if (key == 's') ask();
    return true;
  }
  void draw(const FullScreen& screen) {
    view_.paused = paused_;
    const FullScreen::Size size = screen.size();
    screen.show(report::top_lines(view_, {.width = size.width,
                                          .height = size.height,
                                          .color = color,
                                          .keys = true,
                                          .selected = selected_,
                                          .note = note()}));
  }
  [[nodiscard]] bool paused() const { return paused_; }
  bool color = false;

 private:
  void move(int by) {
    if (view_.runs.empty() || by == 0) return;
    const auto found = std::ranges::find(view_.runs, selected_, &report::TopRun::id);
    const auto last = static_cast<std::ptrdiff_t>(view_.runs.size()) - 1;
    const std::ptrdiff_t at = found == view_.runs.end()
                                  ? (by > 0 ? 0 : last)
                                  : std::clamp<std::ptrdiff_t>(found - view_.runs.begin() + by, 0, last);
    selected_ = view_.runs[static_cast<std::size_t>(at)].id;
  }
  void ask() {
    if (selected_.empty() && view_.runs.size() == 1) move(1);
    if (selected_.empty())
      note_ =
          view_.runs.empty() ? "No run is under way." : "Choose a run by the arrow keys first, then press s.";
    else
      asking_ = true;
  }
  [[nodiscard]] std::string note() const {
    if (!asking_)
      return stopping_ && stopping_->wait_for(milliseconds(0)) == std::future_status::ready ? stopping_->get()
                                                                                            : note_;
    const auto found = std::ranges::find(view_.runs, selected_, &report::TopRun::id);
    return fmt::format("Stop {} {}? y stops it, any other key does not.", selected_.substr(0, 8),
                       found == view_.runs.end() ? std::string() : found->name);
  }
  /// As `plimsoll stop` does, which comes back when the run has ended; the screen goes on meanwhile.
  void stop() {
    std::error_code problem;
    const std::string program = std::filesystem::read_symlink("/proc/self/exe", problem).string();
    ProcessOptions options{.argv = {program, "stop", selected_, "--quiet"}};
    if (!store_.empty()) options.argv.insert(options.argv.end(), {"--store", store_});
    note_ = fmt::format("{} is being stopped.", selected_.substr(0, 8));
    stopping_ = std::async(std::launch::async, [options, name = selected_.substr(0, 8)] {
                  const auto done = plimsoll::run(options);
                  if (!done) return done.error().text();
                  if (done->succeeded()) return name + " has been stopped.";
                  return done->error.empty() ? name + ": " + done->outcome()
                                             : done->error.substr(0, done->error.find('\n'));
                }).share();
  }

  report::TopView view_;
  std::string store_, selected_, note_;
  std::optional<std::shared_future<std::string>> stopping_;
  int escape_ = 0;  // keys of an arrow that have come
  bool paused_ = false, asking_ = false;
};

Result<int> watch_on_screen(TopWatch& watch, const TopOptions& options, bool color) {
  auto screen = FullScreen::open();
  if (!screen) return std::unexpected(screen.error());
  Desk desk(options.store);
  desk.color = color;
  // The first view comes soon, with what is known by then.
  Clock::time_point due = Clock::now() + milliseconds(300);
  for (;;) {
    const auto left = std::chrono::duration_cast<milliseconds>(due - Clock::now());
    const FullScreen::Happened happened = screen->wait(std::max(left, milliseconds(0)));
    switch (happened.event) {
      case FullScreen::Event::ended: return 0;
      case FullScreen::Event::resized: desk.draw(*screen); break;
      case FullScreen::Event::key:
        if (!desk.press(happened.key)) return 0;
        if (happened.key == kControlZ) screen->suspend();
        desk.draw(*screen);
        break;
      case FullScreen::Event::time: {
        report::TopView now = watch.view();  // also while paused, so that nothing is missing afterwards
        if (!desk.paused()) desk.show(std::move(now));
        desk.draw(*screen);
        due = Clock::now() + milliseconds(static_cast<int>(options.interval * 1000));
        break;
      }
    }
  }
}

Result<int> run(const TopOptions& options, const Invocation& invocation) {
  const auto opened = nvml::open();
  nvml::Library* library = opened ? opened->get() : nullptr;
  TopWatch watch(library, opened ? "" : opened.error().text(), options.store);
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
      "Keys: q quits, space pauses; the arrow keys mark a run, s stops it, after a question.\n"
      "Examples:\n"
      "  plimsoll top\n"
      "  plimsoll top --interval 0.2\n"
      "  plimsoll top --once");
  command->callback([options, &invocation] {
    invocation.run = [options, &invocation] { return run(*options, invocation); };
  });
}

}  // namespace plimsoll
