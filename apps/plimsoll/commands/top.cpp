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
constexpr char kControlL = 12;
constexpr char kControlZ = 26;

Result<int> watch_on_screen(TopWatch& watch, const TopOptions& options, bool color) {
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
