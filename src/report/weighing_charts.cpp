#include "report/weighing_charts.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

#include <fmt/format.h>

#include "base/text.hpp"
#include "report/html.hpp"
#include "report/memory_report.hpp"

namespace plimsoll::report {
namespace {

constexpr double kRoom = 1000;  ///< units of a bar's own coordinates
constexpr std::size_t kColours = 8;

double placed(double share) {
  return std::clamp(share, 0.0, 1.0) * kRoom;
}

std::string bar_html(const RowBar& bar) {
  std::string out = fmt::format(
      "<svg viewBox=\"0 0 1000 16\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect class=\"{}\" "
      "y=\"1\" "
      "width=\"{:.1f}\" height=\"14\" rx=\"2\"/>",
      bar.kind, std::max(placed(bar.length), 2.0));
  if (bar.low < bar.high)
    out += fmt::format("<rect class=\"interval\" x=\"{:.1f}\" y=\"7\" width=\"{:.1f}\" height=\"2\"/>",
                       placed(bar.low), placed(bar.high) - placed(bar.low));
  return out + "</svg>";
}

/// The context and what the allocator keeps are no part of the network's own: they stay grey.
bool is_overhead(const BarPart& part) {
  return part.fill == ':' || part.fill == '.';
}

}  // namespace

std::string barred_table_html(const Table& table, std::span<const RowBar> bars, BarPlace place) {
  const auto kind = [&](std::size_t column) {
    return table.columns[column].align == Align::right ? " class=\"number\"" : "";
  };
  const bool below = place == BarPlace::below;
  std::string out = fmt::format("<table class=\"barred{}\"><thead><tr>", below ? " below" : "");
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    out += fmt::format("<th{}>{}</th>", kind(c), escape_html(table.columns[c].title));
    if (c == 0 && !below) out += "<td></td>";
  }
  out += "</tr></thead><tbody>\n";
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    out += "<tr>";
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      out += fmt::format("<td{}>{}", kind(c), escape_html(table.rows[r][c]));
      if (c == 0) out += (below ? "" : "</td><td class=\"bar-cell\">") + bar_html(bars[r]);
      out += "</td>";
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table>\n";
}

std::string memory_chart_html(const WeighedDevice& d) {
  if (!d.memory) return "";
  const std::vector<BarPart> parts = memory_parts(*d.memory);
  Bytes sum;
  for (const BarPart& part : parts) sum += part.bytes;
  if (sum <= Bytes()) return "";
  std::string bar, legend, spoken;
  double at = 0;
  std::size_t colour = 0;
  for (const BarPart& part : parts) {
    if (part.bytes <= Bytes()) continue;
    const double share = part.bytes / sum;
    const std::string look = is_overhead(part)   ? std::string(part.fill == ':' ? "context" : "unused")
                             : colour < kColours ? fmt::format("run-{}", colour++)
                                                 : "context";
    bar += fmt::format("<rect class=\"{}\" x=\"{:.1f}\" width=\"{:.1f}\" height=\"16\"/>", look, at * kRoom,
                       share * kRoom);
    legend += fmt::format("<li><span class=\"key {}\"></span>{} <b>{}</b> {:.1f} %</li>", look,
                          escape_html(part.label), text(part.bytes), 100 * share);
    spoken += fmt::format("{}{} {}", spoken.empty() ? "" : ", ", part.label, text(part.bytes));
    at += share;
  }
  return fmt::format(
      "<figure class=\"parts\"><figcaption>Memory by part</figcaption><svg viewBox=\"0 0 1000 16\" "
      "preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{}\">{}</svg>\n<ul "
      "class=\"legend\">{}</ul></figure>\n",
      escape_html(spoken), bar, legend);
}

std::vector<WeighedDevice> sorted_devices(std::vector<WeighedDevice> devices) {
  const auto rank = [](const WeighedDevice& d) {
    const std::optional<bool> fits = d.fits();
    return std::tuple(!fits   ? 1
                      : *fits ? 0
                              : 2,
                      d.time ? d.time->seconds.value() : std::numeric_limits<double>::infinity());
  };
  std::ranges::stable_sort(devices, {}, rank);
  return devices;
}

}  // namespace plimsoll::report
