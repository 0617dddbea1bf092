#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "report/paragraph.hpp"
#include "report/schedule_lanes.hpp"
#include "report/schedule_words.hpp"

namespace plimsoll::report {
namespace {

using plan::schedule::Plan;
using plan::schedule::Ran;

constexpr std::size_t kUnknownWidth = 100;  // columns, where there is no terminal
constexpr int kWidestChart = 200;
constexpr std::size_t kNarrowestChart = 20;
constexpr std::size_t kWidestLabel = 24;
constexpr std::size_t kMostLanes = 200;
constexpr std::size_t kColumnsPerTick = 10;
constexpr std::array<int, 8> kBarColors = {75, 215, 114, 176, 80, 203, 221, 110};  // of 256
constexpr std::string_view kSeveral = "+";

/// One row of a lane, column by column.
class LaneRow {
 public:
  explicit LaneRow(std::size_t columns) : cells_(columns) {}

  /// A bar from one column to before another. What has no column to itself is told by a mark.
  /// Until `computes` it starts up.
  void add(std::size_t from, std::size_t computes, std::size_t to, std::size_t job, const std::string& name) {
    to = std::min(std::max(to, from + 1), cells_.size());
    from = std::max(std::min(from, cells_.size() - 1), taken_);
    if (from >= to) {
      has_several_ = true;
      cells_[to - 1].letter = kSeveral;
      return;
    }
    const std::string drawn = bar(to - from, std::clamp(computes, from, to) - from, job, name);
    std::string_view rest = drawn;
    for (std::size_t i = from; i < to; ++i) {
      std::size_t length = 1;
      while (length < rest.size() && (static_cast<unsigned char>(rest[length]) >> 6U) == 2) ++length;
      cells_[i] = {std::string(rest.substr(0, length)), kBarColors[job % kBarColors.size()]};
      rest.remove_prefix(std::min(length, rest.size()));
    }
    taken_ = to;
  }
  [[nodiscard]] bool has_several() const { return has_several_; }
  [[nodiscard]] std::string text(const TextStyle& style) const {
    std::string out;
    int color = 0;
    for (std::size_t i = 0; i < taken_; ++i) {
      if (style.color && cells_[i].color != color) {
        color = cells_[i].color;
        out += color == 0 ? "\x1b[0m" : fmt::format("\x1b[38;5;{}m", color);
      }
      out += cells_[i].letter;
    }
    return out + (color == 0 ? "" : "\x1b[0m");
  }

 private:
  struct Cell {
    std::string letter = " ";
    int color = 0;  ///< 0: none
  };

  static std::string bar(std::size_t width, std::size_t starting, std::size_t job, const std::string& name) {
    if (width == 1) return "|";
    starting = starting > 0 ? std::min(starting - 1, width - 2) : 0;  // the bracket is one of its columns
    const std::size_t room = width - 2 - starting;
    const std::string number = fmt::format("{}", job + 1);
    std::string label = room >= number.size() ? number : "";
    if (room >= number.size() + 5) label += " " + shortened(name, room - number.size() - 1);
    std::string rest(room - display_width(label), '=');
    if (!label.empty() && rest.size() > 1) rest.front() = ' ';
    return "[" + std::string(starting, '.') + label + rest + "]";
  }

  std::vector<Cell> cells_;
  std::size_t taken_ = 0;  ///< columns so far
  bool has_several_ = false;
};

/// Where the moments of a plan lie, in columns.
struct TimeScale {
  double span = 0;
  std::size_t columns = 0;
  [[nodiscard]] std::size_t at(double seconds) const {
    if (!(span > 0)) return 0;
    return static_cast<std::size_t>(
        std::lround(std::clamp(seconds / span, 0.0, 1.0) * static_cast<double>(columns)));
  }
};

std::string axis_lines(const TimeScale& scale, std::size_t margin) {
  std::string rule(scale.columns, '-'), labels;
  for (const TimeTick& tick :
       time_ticks(scale.span, std::max<std::size_t>(2, scale.columns / kColumnsPerTick))) {
    const std::size_t at = std::min(scale.at(tick.at), scale.columns - 1);
    rule[at] = '+';
    // Each stands centred below its mark, as far as there is room.
    const std::size_t half = tick.text.size() / 2;
    std::size_t from = at > half ? at - half : 0;
    from = std::min(from, scale.columns - std::min(scale.columns, tick.text.size()));
    if (!labels.empty() && from < labels.size() + 1) continue;
    labels.resize(from, ' ');
    labels += tick.text;
  }
  const std::string indent(margin, ' ');
  return indent + rule + "\n" + indent + labels + "\n";
}

std::string lanes_text(const Plan& plan, const TextStyle& style) {
  std::vector<Lane> lanes = lanes_of(plan);
  const std::size_t left_out = lanes.size() > kMostLanes ? lanes.size() - kMostLanes : 0;
  lanes.resize(lanes.size() - left_out);
  std::size_t margin = 0;
  for (const Lane& lane : lanes)
    margin = std::max(margin, std::min(kWidestLabel, display_width(place_words(plan, lane.place))));
  margin += 2;
  const std::size_t width =
      style.width ? static_cast<std::size_t>(std::clamp(*style.width, 1, kWidestChart)) : kUnknownWidth;
  const TimeScale scale{schedule_span(plan), std::max(width, margin + kNarrowestChart) - margin};
  std::string out;
  bool has_several = false;
  for (const Lane& lane : lanes) {
    std::vector<LaneRow> rows(lane.rows, LaneRow(scale.columns));
    for (const LaneBar& bar : lane.bars) {
      const Ran& ran = plan.outcome.jobs[bar.job];
      rows[bar.row].add(scale.at(ran.start), scale.at(ran.computes_from()), scale.at(ran.end), bar.job,
                        scheduled_name(plan, bar.job));
    }
    for (std::size_t row = 0; row < rows.size(); ++row) {
      has_several = has_several || rows[row].has_several();
      std::string line = row == 0 ? shortened(place_words(plan, lane.place), kWidestLabel) : std::string();
      line += std::string(margin - display_width(line), ' ') + rows[row].text(style);
      out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
  }
  out += axis_lines(scale, margin);
  if (left_out > 0) out += fmt::format("and {} more places\n", left_out);
  if (std::ranges::any_of(plan.instance.jobs, [](const auto& job) { return job.startup > 0; }))
    out += paragraph("...: starts up, without the GPU's SMs", style);
  if (has_several) out += paragraph(fmt::format("{}: several, too short to be drawn", kSeveral), style);
  return out;
}

}  // namespace

std::string schedule_text(const ScheduleReport& report, const TextStyle& style) {
  const Plan& plan = *report.plan;
  std::string out = bold(schedule_title(report), style) + "\n\n";
  out += to_text(schedule_jobs_table(report), style) + "\n";
  out += lanes_text(plan, style) + "\n";
  const auto totals = schedule_totals(report);
  std::size_t widest = 0;
  for (const auto& [label, words] : totals) widest = std::max(widest, label.size());
  for (const auto& [label, words] : totals)
    out += hanging(fmt::format("{:<{}}  ", label, widest), words, style);
  if (!plan.alternatives.empty()) out += "\n" + to_text(schedule_alternatives_table(report), style);
  if (!report.why.empty()) {
    out += "\n" + bold("Why", style) + "\n";
    for (std::size_t i = 0; i < std::min(report.why.size(), plan.instance.jobs.size()); ++i)
      if (!report.why[i].empty())
        out += hanging(fmt::format("{:>3}  {}: ", i + 1, shortened(scheduled_name(plan, i), kWidestLabel)),
                       printable(report.why[i]), style);
  }
  return out;
}

}  // namespace plimsoll::report
