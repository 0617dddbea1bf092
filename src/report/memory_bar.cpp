#include "report/memory_bar.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text.hpp"

namespace plimsoll::report {
namespace {

constexpr std::string_view kIndent = "  ";
constexpr int kWidest = 100;
constexpr int kNarrowestBar = 24;
constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

std::string painted(std::string_view text, int color, const TextStyle& style) {
  return style.color ? fmt::format("\x1b[38;5;{}m{}\x1b[0m", color, text) : std::string(text);
}

/// Where amounts lie on the bar, in columns.
struct Scale {
  Bytes whole;
  std::size_t columns = 0;
  [[nodiscard]] std::size_t at(Bytes amount) const {
    if (whole <= Bytes()) return 0;
    return static_cast<std::size_t>(
        std::lround(std::clamp(amount / whole, 0.0, 1.0) * static_cast<double>(columns)));
  }
};

std::size_t bar_columns(const TextStyle& style) {
  const int room = style.width.value_or(kWidest) - static_cast<int>(kIndent.size()) - 1;  // 1: the line
  return static_cast<std::size_t>(std::clamp(room, kNarrowestBar, kWidest - 3));
}

/// One row of fills; the line stands before column `line`, or nowhere.
std::string drawn(std::span<const BarPart> parts, const Scale& scale, std::size_t line,
                  const TextStyle& style) {
  std::string out;
  std::size_t column = 0;
  const auto run = [&](std::size_t end, char fill, int color) {
    if (end <= column) return;
    const std::string fills(end - column, fill);
    out += fill == ' ' ? fills : painted(fills, color, style);
    column = end;
  };
  const auto part = [&](std::size_t end, char fill, int color) {
    if (line >= column && line < end) {
      run(line, fill, color);
      out += bold("|", style);
      line = kNowhere;
    }
    run(end, fill, color);
  };
  Bytes sum;
  for (const BarPart& p : parts) part(scale.at(sum += p.bytes), p.fill, p.color);
  part(scale.columns, ' ', 0);
  if (line != kNowhere) out += bold("|", style);
  out.erase(out.find_last_not_of(' ') + 1);
  return out;
}

/// "0" and the capacity, which ends below the line where there is room for it.
std::string scale_line(std::size_t line, Bytes capacity) {
  const std::string label = text(capacity);
  const std::size_t width = std::max(line + 1, label.size() + 2);
  return fmt::format("0{:>{}}", label, width - 1);
}

}  // namespace

std::string memory_bar(std::span<const BarPart> parts, std::optional<Bytes> capacity,
                       const TextStyle& style) {
  Bytes sum;
  std::size_t widest = 0;
  for (const BarPart& part : parts) {
    sum += part.bytes;
    widest = std::max(widest, display_width(part.label));
  }
  const Scale scale{std::max(sum, capacity.value_or(Bytes())), bar_columns(style)};
  const std::size_t line = capacity ? scale.at(*capacity) : kNowhere;
  std::string out = fmt::format("{}{}\n", kIndent, drawn(parts, scale, line, style));
  if (capacity) out += fmt::format("{}{}\n", kIndent, scale_line(line, *capacity));
  for (const BarPart& part : parts) {
    if (part.bytes <= Bytes()) continue;
    const std::string label = part.label + std::string(widest - display_width(part.label), ' ');
    out += fmt::format("{}{} {}  {:>9}  {:>5.1f} %\n", kIndent,
                       painted(std::string(1, part.fill), part.color, style), label, text(part.bytes),
                       100 * (part.bytes / sum));
  }
  return out;
}

}  // namespace plimsoll::report
