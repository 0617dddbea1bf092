#include "progress_line.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <unistd.h>

#include "base/printable.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"

namespace plimsoll {
namespace {

constexpr int kBar = 20;
constexpr std::chrono::milliseconds kBetweenLines{100};

}  // namespace

ProgressLine::ProgressLine(std::int64_t rows, double seconds_each)
    : rows_(rows), seconds_each_(seconds_each) {
  const Terminal terminal = describe_terminal(STDERR_FILENO, ColorChoice::automatic);
  shown_ = terminal.interactive;
  width_ = terminal.width.value_or(80);
}

ProgressLine::~ProgressLine() {
  if (shown_ && drawn_) fmt::print(stderr, "\r\x1b[K");
}

void ProgressLine::begin_row(const std::string& what) {
  // The bar and the time take some 60 columns.
  what_ = printable(what, static_cast<std::size_t>(std::max(width_ - 60, 20)));
  ++row_;
  row_begun_ = Clock::now();
  drawn_.reset();
  show({.phase = "starting", .done = 0, .seconds_left = {}});
}

void ProgressLine::end_row() {
  finished_seconds_ += std::chrono::duration<double>(Clock::now() - row_begun_).count();
  seconds_each_ = finished_seconds_ / static_cast<double>(row_);
}

double ProgressLine::seconds_left(const job::Progress& progress) const {
  const double spent = std::chrono::duration<double>(Clock::now() - row_begun_).count();
  const double here = progress.seconds_left.value_or(std::max(0.0, seconds_each_ - spent));
  return here + seconds_each_ * static_cast<double>(rows_ - row_);
}

std::string ProgressLine::line(std::string_view what, std::int64_t row, std::int64_t rows,
                               const job::Progress& progress, std::optional<double> seconds_left) {
  const double done = std::clamp(progress.done, 0.0, 1.0);
  const auto filled = static_cast<std::size_t>(std::lround(done * kBar));
  std::string out = rows > 1 ? fmt::format("{}/{} ", row, rows) : "";
  out += fmt::format("{}: {} [{}{}] {:.0f} %", what, printable(progress.phase, 20), std::string(filled, '#'),
                     std::string(kBar - filled, '.'), 100 * done);
  if (seconds_left) out += fmt::format(", about {} left", text(Seconds(std::ceil(*seconds_left))));
  return out;
}

void ProgressLine::show(const job::Progress& progress) {
  if (!shown_) return;
  const auto now = Clock::now();
  if (drawn_ && now - *drawn_ < kBetweenLines) return;
  drawn_ = now;
  put(line(what_, row_, rows_, progress, seconds_left(progress)));
}

void ProgressLine::put(std::string text) {
  // A line that wraps could not be taken away again. What is cut is ASCII but for names, which printable()
  // has seen; half a letter at the end does no harm on a terminal.
  if (static_cast<int>(text.size()) >= width_) text.resize(static_cast<std::size_t>(std::max(width_ - 1, 1)));
  fmt::print(stderr, "\r\x1b[K{}", text);
  std::fflush(stderr);
}

}  // namespace plimsoll
