#include "report/weighing.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "report/paragraph.hpp"
#include "report/several.hpp"
#include "report/weighing_words.hpp"

namespace plimsoll::report {
namespace {

constexpr std::string_view kIndent = "           ";  ///< of what stands beside a label
constexpr std::size_t kLabel = kIndent.size();
constexpr std::size_t kBar = 18;

std::size_t columns_of(std::string_view plain) {
  return display_width(plain);
}

/// Pieces with a dot between, broken between pieces where they can be.
std::string dotted(const std::vector<std::string>& pieces, std::size_t width) {
  std::string out, line;
  const auto flush = [&] {
    if (line.empty()) return;
    // A piece that is wider than the page by itself is broken between words.
    const std::string wrapped = wrap(line, width, kIndent);
    out += out.empty() ? wrapped.substr(kLabel) : wrapped;
    line.clear();
  };
  for (const std::string& piece : pieces) {
    if (!line.empty() && kLabel + columns_of(line) + 3 + columns_of(piece) > width) flush();
    line += line.empty() ? piece : " · " + piece;
  }
  flush();
  return out.empty() ? "\n" : out;
}

std::string labelled(std::string_view label, const std::string& value) {
  return fmt::format("{:<{}}{}", label, kLabel, value);
}

std::string joined(const std::vector<std::string>& pieces) {
  return fmt::format("{}", fmt::join(pieces, " · "));
}

/// `right` at the page's right edge, or below where there is no room.
std::string spread(const std::string& left, const std::string& right, std::size_t width,
                   std::size_t left_columns) {
  std::string own = left_columns <= width ? left + "\n" : wrap(left, width, "");
  if (right.empty()) return own;
  const std::size_t right_columns = columns_of(right);
  if (left_columns + 2 + right_columns <= width)
    return left + std::string(width - left_columns - right_columns, ' ') + right + "\n";
  return own + wrap(right, width, "  ");
}

/// Eighths of a column, so that small needs can be seen.
std::string bar_of(double share) {
  static constexpr std::array<std::string_view, 8> kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths =
      static_cast<std::size_t>(std::lround(std::clamp(share, 0.0, 1.0) * static_cast<double>(kBar * 8)));
  std::string out;
  for (std::size_t i = 0; i < eighths / 8; ++i) out += "█";
  return out += kEighths[eighths % 8];
}

/// What others use, what this needs, and the line of the whole; past the line where it does not fit.
std::string bar(const WeighedDevice& d, const TextStyle& style) {
  const auto whole = d.use && d.use->total ? d.use->total : d.memory ? d.memory->capacity : std::nullopt;
  if (!d.memory || !whole || *whole <= Bytes()) return "";
  const Bytes others = d.use && d.use->users.empty() ? Bytes()
                       : d.use                       ? d.use->used.value_or(Bytes())
                                                     : Bytes();
  const auto columns_used = static_cast<std::size_t>(
      std::lround(std::clamp(others / *whole, 0.0, 1.0) * static_cast<double>(kBar)));
  std::string used;
  for (std::size_t i = 0; i < columns_used; ++i) used += "░";
  const std::string own = bar_of(d.memory->minimum_device() / *whole);
  const bool fits = d.fits().value_or(true);
  const std::size_t columns = columns_used + columns_of(own);
  const std::string painted = fits ? green(own, style) : red(own, style);
  if (columns > kBar || !fits) return fmt::format("{}{}┆▸", used, painted);
  return fmt::format("{}{}{}┆", used, painted, std::string(kBar - columns, ' '));
}

std::string coloured_fit(const WeighedDevice& d, const TextStyle& style) {
  std::string words = fit_words(d);
  if (!d.fits()) return words;
  return *d.fits() ? green(words, style) : red(words, style);
}

std::string head(const Weighing& w, std::size_t width, const TextStyle& style) {
  const std::string model = printable(w.inspection.model, 60);
  const std::string setting = " · " + joined(setting_words(w));
  return spread(bold(model, style) + setting, joined(size_words(w)), width, columns_of(model + setting));
}

std::string memory_lines(const WeighedDevice& d, const Weighing& w, std::size_t width,
                         const TextStyle& style) {
  const std::string amount = memory_words(d);
  std::string line = labelled("  memory", amount);
  std::string rest = coloured_fit(d, style);
  if (const std::string room = room_words(d, w); !room.empty()) rest += "; " + room;
  const std::string drawn = bar(d, style);
  constexpr std::size_t kAmount = 16;
  if (!drawn.empty()) {
    line += std::string(kAmount > columns_of(amount) ? kAmount - columns_of(amount) : 1, ' ') + drawn;
    const std::size_t beside = kLabel + std::max(kAmount, columns_of(amount) + 1) + kBar + 4;
    const std::string plain = fit_words(d) + "; " + room_words(d, w);
    line += beside + columns_of(plain) <= width ? "  " + rest + "\n" : "\n" + wrap(rest, width, kIndent);
  } else {
    line = hanging(labelled("  memory", ""), amount + "  " + rest, style);
  }
  if (const auto peak = peak_words(d); !peak.empty()) line += std::string(kIndent) + dotted(peak, width);
  return line;
}

std::string time_lines(const WeighedDevice& d, const Weighing& w, std::size_t width, const TextStyle& style) {
  std::vector<std::string> pieces = time_words(d, w);
  const std::string basis = basis_words(d).empty() ? "" : fmt::format("[{}]", basis_words(d));
  const std::string line = labelled("  time", joined(pieces));
  if (basis.empty()) return labelled("  time", dotted(pieces, width));
  if (columns_of(line) + 2 + columns_of(basis) <= width)
    return line + std::string(width - columns_of(line) - columns_of(basis), ' ') + dim(basis, style) + "\n";
  pieces.push_back(basis);
  return labelled("  time", dotted(pieces, width));
}

/// How many of them would do, and how.
std::string several_lines(const WeighedDevice& d, const Weighing& w, std::size_t width,
                          const TextStyle& style) {
  if (!d.several) return "";
  std::string out = labelled("  several", wrap(several_words(*d.several), width, kIndent).substr(kLabel));
  const Table table = several_table(*d.several, w.setting.mode == network::Mode::train);
  TextStyle narrow = style;
  narrow.width = static_cast<int>(width - kLabel);
  if (!table.rows.empty()) {
    std::string rows = to_text(table, narrow);
    for (std::size_t begin = 0; begin < rows.size();) {
      const std::size_t end = std::min(rows.find('\n', begin), rows.size());
      out += fmt::format("{}{}\n", kIndent, rows.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  for (const std::string& note : several_notes(*d.several)) out += wrap(note, width, kIndent);
  return out;
}

/// The users one by one, so that lines break between them.
std::vector<std::string> in_use_pieces(const WeighedDevice& d) {
  std::vector<std::string> pieces;
  std::string words = use_words(d).substr(std::string_view("in use ").size());
  for (std::size_t comma = words.find(", "); comma != std::string::npos; comma = words.find(", ")) {
    pieces.push_back(words.substr(0, comma));
    words.erase(0, comma + 2);
  }
  pieces.push_back(std::move(words));
  return pieces;
}

std::string block(const WeighedDevice& d, const Weighing& w, std::size_t width, const TextStyle& style) {
  const std::string label = device_label(d), words = device_words(d), use = use_words(d);
  std::string left = bold(label, style) + "  " + words;
  std::size_t columns = columns_of(label) + 2 + columns_of(words);
  const std::string activity = activity_words(d);
  const bool beside = columns + 3 + columns_of(use) + 2 + columns_of(activity) <= width;
  if (beside && !use.empty()) {
    left += "   " + use;
    columns += 3 + columns_of(use);
  }
  std::string out = "\n" + spread(left, activity, width, columns);
  if (!beside && !use.empty()) out += labelled("  in use", dotted(in_use_pieces(d), width));
  out +=
      memory_lines(d, w, width, style) + time_lines(d, w, width, style) + several_lines(d, w, width, style);
  if (const auto measured = measured_words(d, w); !measured.empty())
    out += labelled("  measured", dotted(measured, width));
  for (const std::string& doubt : measured_doubts(d)) out += wrap("doubtful: " + doubt, width, kIndent);
  if (d.here && !d.measured && w.can_measure && d.fits().value_or(true))
    out += labelled("  measured",
                    dotted({"not yet: --measure runs it here and shows how far off this is"}, width));
  return out;
}

std::string elsewhere_lines(const Weighing& w, std::size_t width, const TextStyle& style) {
  const Elsewhere e = elsewhere(w);
  std::string out;
  const auto group = [&](std::string_view title, std::vector<std::string> devices) {
    if (devices.empty()) return;
    devices.front() = fmt::format("{}: {}", title, devices.front());
    out += (out.empty() ? labelled("elsewhere", "") : std::string(kIndent)) + dotted(devices, width);
  };
  group("fits", e.fits);
  group("tight", e.tight);
  group("does not fit", e.too_small);
  group("unknown", e.unknown);
  if (!out.empty() && !e.basis.empty())
    for (const std::string& line : {wrap(e.basis, width, kIndent)})
      out += dim(line.substr(0, line.size() - 1), style) + "\n";
  return out.empty() ? out : "\n" + out;
}

std::string cost_block(const Weighing& w, std::size_t width, const TextStyle& style) {
  const std::vector<CostLine> lines = cost_lines(w);
  if (lines.empty()) return "";
  std::string out = hanging(labelled("cost", ""), fmt::format("of {}:", printable(w.work.words)), style);
  for (const CostLine& line : lines) {
    const WeighedCost& cost = *line.device->cost;
    std::vector<std::string> pieces = cost_words(cost, w);
    pieces.front() =
        fmt::format("{} on {} ({}{}){}", pieces.front(), printable(line.device->device.id, 40),
                    printable(cost.offer, 40), cost.devices > 1 ? fmt::format(" / {}", cost.devices) : "",
                    line.what.empty() ? "" : fmt::format(", {}", line.what));
    out += std::string(kIndent) + dotted(pieces, width);
  }
  const std::string basis = wrap(cost_basis(w), width, kIndent);
  return "\n" + out + dim(basis.substr(0, basis.size() - 1), style) + "\n";
}

}  // namespace

std::string weighing_text(const Weighing& w, const TextStyle& style) {
  const std::size_t width = text_width(style);
  std::string out = head(w, width, style);
  for (const WeighedDevice& d : w.devices)
    if (d.in_full) out += block(d, w, width, style);
  out += elsewhere_lines(w, width, style);
  out += cost_block(w, width, style);
  for (const std::string& note : weighing_notes(w)) out += "\n" + wrap("note: " + note, width, "");
  if (!w.next.empty()) out += "\n" + hanging(labelled("next", ""), printable(w.next), style);
  return out;
}

}  // namespace plimsoll::report
