#include "report/top_view.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "nvml/activity.hpp"
#include "report/table.hpp"

namespace plimsoll::report {
namespace {

constexpr int kNarrowestScreen = 20;
/// Below this much, tables become lines that say the most important first.
constexpr int kNarrow = 72;
constexpr std::size_t kMostAlarms = 3;
constexpr int kWidestBar = 40;
constexpr int kLongestHistory = 60;
constexpr double kMuchPressure = 0.1;

enum class Tone { plain, strong, quiet, good, bad };

/// A line as pieces of one tone each, so that it can be cut by what is seen.
class Line {
 public:
  Line& add(std::string_view text, Tone tone = Tone::plain) {
    pieces_.emplace_back(text, tone);
    return *this;
  }
  Line& pad_to(std::size_t column) {
    std::size_t width = 0;
    for (const auto& [text, tone] : pieces_) width += display_width(text);
    if (width < column) add(std::string(column - width, ' '));
    return *this;
  }
  [[nodiscard]] std::string rendered(const TopScreen& screen) const;

 private:
  std::vector<std::pair<std::string, Tone>> pieces_;
};

std::string cut_to(std::string_view text, std::size_t columns) {
  std::size_t end = 0;
  for (std::size_t seen = 0; end < text.size(); ++end)
    if ((static_cast<unsigned char>(text[end]) & 0xC0U) != 0x80U && seen++ == columns) break;
  return std::string(text.substr(0, end));
}

std::string Line::rendered(const TopScreen& screen) const {
  const TextStyle style{{}, screen.color};
  std::string out;
  auto room = static_cast<std::size_t>(std::max(screen.width, kNarrowestScreen));
  for (const auto& [text, tone] : pieces_) {
    const std::string part = cut_to(text, room);
    room -= display_width(part);
    switch (tone) {
      case Tone::plain: out += part; break;
      case Tone::strong: out += bold(part, style); break;
      case Tone::quiet: out += dim(part, style); break;
      case Tone::good: out += green(part, style); break;
      case Tone::bad: out += red(part, style); break;
    }
    if (room == 0) break;
  }
  if (!screen.color) out.erase(out.find_last_not_of(' ') + 1);
  return out;
}

/// A bar of eighths of a column.
std::string bar(double share, int columns) {
  static constexpr std::array<std::string_view, 9> kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};
  const int eighths = static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * columns * 8));
  std::string out;
  for (int i = 0; i < eighths / 8; ++i) out += kEighths[8];
  out += kEighths[static_cast<std::size_t>(eighths % 8)];
  return out;
}

std::string sparkline(const std::vector<double>& history, int columns) {
  static constexpr std::array<std::string_view, 9> kLevels = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::string out;
  const auto most = static_cast<std::size_t>(std::max(columns, 0));
  for (std::size_t i = history.size() - std::min(history.size(), most); i < history.size(); ++i) {
    const double share = std::clamp(history[i], 0.0, 1.0);
    // What is small is not nothing: only zero is an empty place.
    out += kLevels[static_cast<std::size_t>(std::ceil(share * 8))];
  }
  return out;
}

std::string percent_or_dash(const std::optional<double>& share) {
  return share ? fmt::format("{:.0f} %", 100 * *share) : std::string("-");
}

template <class T>
std::string or_dash(const std::optional<T>& value) {
  return value ? text(*value) : std::string("-");
}

std::string duration(Seconds time) {
  const auto seconds = static_cast<std::int64_t>(std::clamp(time.value(), 0.0, 3.2e9));
  return seconds < 86400
             ? fmt::format("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
             : fmt::format("{} d {:02}:{:02}", seconds / 86400, seconds / 3600 % 24, seconds / 60 % 60);
}

/// Builds the screen from top to bottom.
class Screen {
 public:
  explicit Screen(const TopScreen& screen)
      : screen_(screen), bar_(std::clamp((screen.width - 46) / 2, 8, kWidestBar)) {}

  void title(const TopView& view);
  void alarms(const TopView& view);
  void host(const TopHost& host);
  void no_gpu(const TopView& view);
  void gpu(const TopGpu& gpu);
  void processes(const TopGpu& gpu, std::size_t most);
  void runs(const TopView& view, std::size_t most);
  void queue(const TopQueue& queue);
  void line(const Line& line) { lines_.push_back(line.rendered(screen_)); }
  [[nodiscard]] std::vector<std::string> take() { return std::move(lines_); }
  [[nodiscard]] std::size_t size() const { return lines_.size(); }

 private:
  [[nodiscard]] bool is_narrow() const { return screen_.width < kNarrow; }
  void meter(std::string_view name, const std::optional<double>& share, std::string_view figure, Tone tone,
             std::string_view after = {});
  void run(const TopRun& run, bool with_details, std::int64_t now);

  TopScreen screen_;
  int bar_;
  std::vector<std::string> lines_;
};

void Screen::meter(std::string_view name, const std::optional<double>& share, std::string_view figure,
                   Tone tone, std::string_view after) {
  Line out;
  if (is_narrow())
    out.add(fmt::format("  {:<8}", name == "SM activity" ? "SMs" : name == "utilisation" ? "util." : name));
  else
    out.add(fmt::format("  {:<13}", name));
  const std::string filled = share ? bar(*share, bar_) : std::string();
  out.add(filled, tone);
  out.add(std::string(static_cast<std::size_t>(bar_) - display_width(filled), ' '), Tone::quiet);
  out.add(fmt::format(" {}", figure));
  if (!after.empty()) out.add("  ").add(after, Tone::quiet);
  line(out);
}

void Screen::title(const TopView& view) {
  Line out;
  out.add("plimsoll top", Tone::strong);
  if (!view.host.name.empty()) out.add(fmt::format("  {}", printable(view.host.name, 64)));
  if (!view.driver.empty() && !is_narrow())
    out.add(fmt::format("  driver {}", printable(view.driver, 64)), Tone::quiet);
  out.add(fmt::format("  watched {}", duration(view.watched)), Tone::quiet);
  if (view.paused) out.add("  paused", Tone::bad);
  if (screen_.keys && !is_narrow()) out.add("  q quits, space pauses, s stops a run", Tone::quiet);
  line(out);
  if (screen_.keys && is_narrow()) line(Line().add("  q quits, space pauses, s stops a run", Tone::quiet));
}

void Screen::alarms(const TopView& view) {
  const std::vector<TopAlarm> all = top_alarms(view);
  for (const TopAlarm& alarm : std::span(all).first(std::min(all.size(), kMostAlarms)))
    line(Line().add("! " + printable(alarm.text, 256), Tone::bad));
}

void Screen::host(const TopHost& host) {
  const std::optional<double> busy =
      host.cpu && host.cores > 0 ? std::optional(*host.cpu / host.cores) : std::nullopt;
  meter("CPU", busy, host.cpu ? fmt::format("{:.1f} of {} cores", *host.cpu, host.cores) : std::string("-"),
        Tone::good);
  const std::optional<double> full = host.memory_used && host.memory_total && *host.memory_total > Bytes()
                                         ? std::optional(*host.memory_used / *host.memory_total)
                                         : std::nullopt;
  meter("memory", full, fmt::format("{} of {}", or_dash(host.memory_used), or_dash(host.memory_total)),
        Tone::good,
        host.swap_used && *host.swap_used > Bytes() ? fmt::format("swap {}", text(*host.swap_used)) : "");
  Line rest;
  rest.add(is_narrow() ? "  waits " : "  waiting for  ");
  const auto pressure = [&](std::string_view what, const std::optional<double>& share) {
    rest.add(fmt::format("{} {}{}", what, percent_or_dash(share), is_narrow() ? " " : "   "),
             share.value_or(0) > kMuchPressure ? Tone::bad : Tone::plain);
  };
  pressure("CPU", host.cpu_pressure);
  pressure("memory", host.memory_pressure);
  pressure("disk", host.io_pressure);
  if (host.cgroup_memory_limit)
    rest.add(fmt::format("group {} of {} allowed   ", or_dash(host.cgroup_memory),
                         text(*host.cgroup_memory_limit)));
  if (host.package_energy) rest.add(fmt::format("CPU energy {}", text(*host.package_energy)));
  line(rest);
}

std::string throttle_text(std::uint64_t bits) {
  std::string out;
  for (const nvml::Throttle& reason : nvml::kThrottles)
    if (reason.slows && (bits & reason.bit) != 0)
      out += fmt::format("{}{}", out.empty() ? "" : ", ", reason.name);
  return out;
}

void Screen::no_gpu(const TopView& view) {
  if (view.no_gpu.empty()) return;
  // The reason is a library's, and long: it goes on below, between words.
  std::string rest = "no GPU: " + printable(view.no_gpu, 1000);
  const auto room = static_cast<std::size_t>(std::max(screen_.width, kNarrowestScreen));
  while (!rest.empty()) {
    std::string part = cut_to(rest, room);
    if (part.size() < rest.size())
      if (const std::size_t blank = part.rfind(' '); blank != std::string::npos && blank > 8)
        part.resize(blank + 1);
    line(Line().add(part, Tone::quiet));
    rest.erase(0, part.size());
  }
}

void Screen::gpu(const TopGpu& gpu) {
  Line head;
  head.add(fmt::format("GPU {}", gpu.number), Tone::strong).add(fmt::format("  {}", printable(gpu.name, 64)));
  if (is_narrow()) line(std::exchange(head, Line()));
  head.add(fmt::format("  {}", or_dash(gpu.power)));
  if (gpu.power_limit) head.add(fmt::format(" of {}", text(*gpu.power_limit)));
  if (gpu.energy && !is_narrow()) head.add(fmt::format("  {} so far", text(*gpu.energy)));
  if (gpu.temperature) head.add(fmt::format("  {:.0f} °C", *gpu.temperature));
  if (gpu.sm_clock && !is_narrow()) head.add(fmt::format("  {}", si_text(*gpu.sm_clock, "Hz")));
  if (const std::string reasons = throttle_text(gpu.throttle.value_or(0)); !reasons.empty())
    head.add("  ").add(fmt::format("slowed: {}", reasons), Tone::bad);
  line(head);
  if (gpu.sm_activity || !gpu.history.empty()) {
    meter("SM activity", gpu.sm_activity, fmt::format("{:>5}", percent_or_dash(gpu.sm_activity)), Tone::good,
          sparkline(gpu.history, std::min(screen_.width - bar_ - 26, kLongestHistory)));
  } else if (gpu.slices.empty()) {
    line(Line().add("  SM activity  ").add("this GPU does not count it (Hopper and later do)", Tone::quiet));
  }
  // Beside the activity, so that the difference is seen.
  std::string counters;
  if (gpu.tensor_activity) counters += fmt::format("tensor {}  ", percent_or_dash(gpu.tensor_activity));
  if (gpu.dram_activity) counters += fmt::format("DRAM {}", percent_or_dash(gpu.dram_activity));
  meter("utilisation", gpu.utilization, fmt::format("{:>5}", percent_or_dash(gpu.utilization)), Tone::quiet,
        counters);
  const std::optional<double> full = gpu.memory_used && gpu.memory_total && *gpu.memory_total > Bytes()
                                         ? std::optional(*gpu.memory_used / *gpu.memory_total)
                                         : std::nullopt;
  meter("memory", full, fmt::format("{} of {}", or_dash(gpu.memory_used), or_dash(gpu.memory_total)),
        full.value_or(0) > 0.95 ? Tone::bad : Tone::good);
  for (const TopSlice& slice : gpu.slices)
    meter(fmt::format("slice {}", slice.gpu_instance), slice.sm_activity,
          fmt::format("{:>5}", percent_or_dash(slice.sm_activity)), Tone::good,
          slice.memory_used ? text(*slice.memory_used) : "");
}

void Screen::processes(const TopGpu& gpu, std::size_t most) {
  const std::size_t shown =
      gpu.processes.size() <= most ? gpu.processes.size() : std::max<std::size_t>(most, 1) - 1;
  for (const TopProcess& process : std::span(gpu.processes).first(shown))
    line(Line()
             .add(is_narrow() ? fmt::format("  {} {} {} ", process.pid, or_dash(process.memory),
                                            percent_or_dash(process.time_share))
                              : fmt::format("  {:>9}  {:>9}  {:>5} of the time  ", process.pid,
                                            or_dash(process.memory), percent_or_dash(process.time_share)))
             .add(process.command.empty() ? "(not of this container)" : printable(process.command, 256),
                  process.command.empty() ? Tone::quiet : Tone::plain));
  if (shown < gpu.processes.size() && most > 0)
    line(Line().add(fmt::format("  {:>9}  more processes", gpu.processes.size() - shown), Tone::quiet));
}

/// Between the least and the most of them.
std::vector<double> scaled(const std::vector<double>& history) {
  std::vector<double> out;
  for (const double value : history)
    if (std::isfinite(value)) out.push_back(value);
  if (out.empty()) return out;
  const auto [least, most] = std::ranges::minmax(out);
  // Not to the floor: an empty place is no value.
  for (double& value : out) value = most > least ? 0.125 + 0.875 * (value - least) / (most - least) : 0.5;
  return out;
}

/// "loss 0.25 at step 500  ▂▄█  50 % by params.epochs, 1:02:03 left  GPU 0, 1"
std::string progress_text(const TopRun& run, std::int64_t now, bool narrow) {
  std::string out;
  const auto add = [&](const std::string& part) { out += (out.empty() ? "" : "  ") + part; };
  if (run.metric) {
    constexpr std::size_t kShort = 16, kLong = 40;
    add(fmt::format("{} {:.4g}", printable(run.metric->name, narrow ? kShort : kLong), run.metric->value));
    if (run.step && !narrow) out += fmt::format(" at step {}", *run.step);
    constexpr int kShortHistory = 8, kHistory = 20;
    if (run.history.size() > 1) add(sparkline(scaled(run.history), narrow ? kShortHistory : kHistory));
  }
  if (run.progress) {
    add(fmt::format("{:.0f} %", 100 * run.progress->share));
    if (!narrow) out += fmt::format(" by {}", printable(run.progress->source, 40));
    if (run.expected_end && *run.expected_end > now)
      out += fmt::format("{} {} left", narrow ? "" : ",",
                         duration(Seconds(static_cast<double>(*run.expected_end - now) * 1e-6)));
  }
  if (!run.gpus.empty()) add(fmt::format("GPU {}", fmt::join(run.gpus, ", ")));
  return out;
}

std::size_t details_of(const TopRun& run, bool narrow) {
  return (narrow ? 1U : 0U) + (run.metric || run.progress || !run.gpus.empty() ? 1U : 0U) +
         (run.target ? 1U : 0U);
}

/// Lines beside the one that each run has.
std::size_t details_in(const TopView& view, bool narrow) {
  std::size_t out = 0;
  for (const TopRun& run : view.runs) out += details_of(run, narrow);
  return out;
}

void Screen::run(const TopRun& run, bool with_details, std::int64_t now) {
  const bool marked = !screen_.selected.empty() && run.id == screen_.selected;
  const char* const mark = marked ? "> " : "  ";
  const Tone tone = marked ? Tone::strong : Tone::plain;
  const std::string elapsed = run.elapsed ? duration(*run.elapsed) : "-";
  if (is_narrow()) {
    line(Line().add(fmt::format("{}{} {}", mark, run.id.substr(0, 8), printable(run.name, 256)), tone));
  } else {
    line(Line().add(
        fmt::format("{}{:<8}{:>11}  {:>10}  {:>9}  {:>9}  {:>5}  {:>9}  {}", mark, run.id.substr(0, 8),
                    elapsed, run.cpu ? fmt::format("{:.1f} cores", *run.cpu) : "-", or_dash(run.memory),
                    or_dash(run.gpu_memory), percent_or_dash(run.sm_activity), or_dash(run.energy),
                    printable(run.name, 256)),
        tone));
  }
  if (!with_details) return;
  const std::string indent(is_narrow() ? 4 : 10, ' ');
  if (is_narrow()) {
    std::string figures = elapsed;
    if (run.sm_activity) figures += fmt::format("  SMs {}", percent_or_dash(run.sm_activity));
    if (run.gpu_memory) figures += fmt::format("  {}", text(*run.gpu_memory));
    if (run.energy) figures += fmt::format("  {}", text(*run.energy));
    line(Line().add(indent + figures));
  }
  if (const std::string progress = progress_text(run, now, is_narrow()); !progress.empty())
    line(Line().add(indent + progress, Tone::quiet));
  if (run.target) line(Line().add(indent + run_target_text(*run.target), Tone::quiet));
}

void Screen::runs(const TopView& view, std::size_t most) {
  if (most == 0) return;
  if (!view.no_runs.empty()) {
    line(Line().add("Runs", Tone::strong).add(fmt::format("  {}", printable(view.no_runs)), Tone::quiet));
    return;
  }
  if (view.runs.empty()) {
    line(Line().add("Runs", Tone::strong).add("  none under way", Tone::quiet));
    return;
  }
  Line head;
  head.add("Runs      ", Tone::strong);
  if (!is_narrow())
    head.add(fmt::format("{:>11}  {:>10}  {:>9}  {:>9}  {:>5}  {:>9}  {}", "elapsed", "CPU", "memory",
                         "on GPU", "SMs", "energy", "name"),
             Tone::quiet);
  line(head);
  const std::size_t room = most - 1;
  const std::size_t shown = view.runs.size() <= room ? view.runs.size() : std::max<std::size_t>(room, 1) - 1;
  // What there is beside has lines of its own where there is room for all of it.
  const bool with_details = view.runs.size() + details_in(view, is_narrow()) <= room;
  // The one that is marked is to be seen.
  const auto marked = std::ranges::find(view.runs, screen_.selected, &TopRun::id);
  const auto at = static_cast<std::size_t>(marked - view.runs.begin());
  const std::size_t first = marked == view.runs.end() || at < shown ? 0 : at + 1 - shown;
  for (const TopRun& one : std::span(view.runs).subspan(first, shown)) run(one, with_details, view.time);
  if (shown < view.runs.size() && room > 0)
    line(Line().add(fmt::format("  {} more", view.runs.size() - shown), Tone::quiet));
}

void Screen::queue(const TopQueue& queue) {
  std::string held = queue.held > 0 ? fmt::format(", {} held", queue.held) : std::string();
  line(Line()
           .add("Queue", Tone::strong)
           .add(fmt::format("  {} running, {} waiting{}", queue.running, queue.waiting, held), Tone::quiet));
  constexpr std::size_t kShown = 3;
  for (const TopJob& job : std::span(queue.next).first(std::min(kShown, queue.next.size())))
    line(Line()
             .add(fmt::format("  {:<8}{}", job.number, printable(job.name, 256)))
             .add(job.why.empty() ? "" : "  " + printable(job.why, 256), Tone::quiet));
}

/// Lines for the processes of each GPU: all of them, or as even as can be, none left unused.
std::vector<std::size_t> dealt(const std::vector<TopGpu>& gpus, std::size_t lines) {
  std::vector<std::size_t> out(gpus.size(), 0);
  for (bool given = true; given && lines > 0;) {
    given = false;
    for (std::size_t i = 0; i < gpus.size() && lines > 0; ++i) {
      if (out[i] >= gpus[i].processes.size()) continue;
      ++out[i];
      --lines;
      given = true;
    }
  }
  return out;
}

}  // namespace

std::vector<std::string> top_lines(const TopView& view, const TopScreen& screen) {
  // First what is always there, to learn how many lines are left for the lists.
  Screen fixed(screen);
  fixed.title(view);
  fixed.alarms(view);
  fixed.host(view.host);
  fixed.no_gpu(view);
  std::size_t processes = 0;
  for (const TopGpu& gpu : view.gpus) {
    fixed.gpu(gpu);
    processes += gpu.processes.size();
  }
  if (view.queue) fixed.queue(*view.queue);
  const std::size_t runs =
      view.runs.empty() ? 1 : view.runs.size() + details_in(view, screen.width < kNarrow) + 1;
  const std::size_t height =
      screen.height ? static_cast<std::size_t>(std::max(*screen.height, 1)) : fixed.size() + processes + runs;
  const std::size_t left = height - std::min(height, fixed.size());
  const std::size_t for_runs = std::min(runs, std::max(left / 2, left - std::min(left, processes)));
  const std::vector<std::size_t> for_processes = dealt(view.gpus, left - for_runs);

  Screen out(screen);
  out.title(view);
  out.alarms(view);
  out.host(view.host);
  out.no_gpu(view);
  for (std::size_t i = 0; i < view.gpus.size(); ++i) {
    out.gpu(view.gpus[i]);
    out.processes(view.gpus[i], for_processes[i]);
  }
  if (view.queue) out.queue(*view.queue);
  out.runs(view, for_runs);
  std::vector<std::string> lines = out.take();
  if (lines.size() > height) lines.resize(height);
  if (!screen.note.empty()) {
    if (screen.height && lines.size() == height) lines.pop_back();
    lines.push_back(Line().add(printable(screen.note, 512), Tone::strong).rendered(screen));
  }
  return lines;
}

}  // namespace plimsoll::report
