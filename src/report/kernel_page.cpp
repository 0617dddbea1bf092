#include "report/kernel_page.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "report/html.hpp"

namespace plimsoll::report {
namespace {

using estimate::Activity;
using estimate::ProfiledKernel;

constexpr double kPageWidth = 1000, kLabels = 86, kLineHeight = 34, kBarHeight = 26;
constexpr std::size_t kMostLines = 24, kMostDrawn = 8000, kLongest = 30;

/// The pass cut into lines of equal time.
struct TimeLines {
  double seconds = 0;  ///< of each
  std::size_t count = 1;

  explicit TimeLines(const KernelReport& report) {
    const double all = (report.captured ? report.profile->seconds : report.profile->eager).value();
    count = std::clamp<std::size_t>(report.profile->kernels.size() / 12, 1, kMostLines);
    seconds = all > 0 ? all / static_cast<double>(count) : 1;
  }
  /// In which something begins.
  [[nodiscard]] std::size_t of(double begin) const {
    return std::min(static_cast<std::size_t>(begin / seconds), count - 1);
  }
  [[nodiscard]] double x(double within) const { return kLabels + within / seconds * (kPageWidth - kLabels); }
};

double begin_of(const KernelReport& report, const ProfiledKernel& kernel) {
  return (report.captured ? kernel.begin : kernel.eager_begin).value();
}

std::string tip(const KernelReport& report, std::size_t i) {
  const ProfiledKernel& kernel = report.profile->kernels[i];
  std::string out =
      fmt::format("{} · {}\n{}\n{} ({} to {}), bound by {} [{}]", phase_words(kernel.launch),
                  kernel_layer(report, kernel.launch),
                  kernel_words(report.program->kernels[kernel.launch.kernel]), text(kernel.seconds),
                  text(kernel.low()), text(kernel.high()), name(kernel.bottleneck), name(kernel.provenance));
  if (report.demand != nullptr) {
    const estimate::Demand& d = report.demand->kernels[i];
    out += fmt::format("\n{:.0f} blocks of {:.0f} warps, {:.3g} waves · SMs {:.0f} % · DRAM {:.0f} %",
                       d.blocks, d.warps_per_block, d.waves, 100 * d.sm_share, 100 * d.dram_share);
  }
  return out;
}

/// A kernel may reach over the end of a line.
std::string bars(const KernelReport& report, const TimeLines& lines, std::size_t i) {
  const ProfiledKernel& kernel = report.profile->kernels[i];
  const double share = report.demand != nullptr ? report.demand->kernels[i].sm_share : 1;
  const double height = std::max(kBarHeight * share, 2.0);
  double begin = begin_of(report, kernel);
  const double end = begin + kernel.seconds.value();
  std::string out =
      fmt::format("<g class=\"{}\"><title>{}</title>", name(kernel.bottleneck), escape_html(tip(report, i)));
  for (auto line = lines.of(begin); line < lines.count && begin < end; ++line) {
    const double from = static_cast<double>(line) * lines.seconds;
    const double stop = line + 1 == lines.count ? end : std::min(end, from + lines.seconds);
    const double y = static_cast<double>(line) * kLineHeight + kBarHeight - height;
    out += fmt::format("<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\"/>",
                       lines.x(begin - from), y,
                       std::max(lines.x(stop - from) - lines.x(begin - from) - 0.15, 0.1), height);
    begin = stop;
  }
  return out + "</g>\n";
}

std::string drawing(const KernelReport& report) {
  const TimeLines lines(report);
  const auto& kernels = report.profile->kernels;
  std::string out = fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"Kernels over time\">\n",
                                kPageWidth, static_cast<double>(lines.count) * kLineHeight);
  for (std::size_t line = 0; line < lines.count; ++line) {
    const double y = static_cast<double>(line) * kLineHeight + kBarHeight;
    out += fmt::format(
        "<text x=\"{}\" y=\"{}\">{}</text><line class=\"rule\" x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\"/>\n",
        kLabels - 8, y - 4, text(Seconds(static_cast<double>(line) * lines.seconds)), kLabels, kPageWidth,
        y + 0.5, y + 0.5);
  }
  std::vector<std::size_t> drawn(kernels.size());
  std::iota(drawn.begin(), drawn.end(), std::size_t{0});
  if (drawn.size() > kMostDrawn) {
    std::ranges::nth_element(drawn, drawn.begin() + kMostDrawn, std::greater(),
                             [&](std::size_t i) { return kernels[i].seconds; });
    drawn.resize(kMostDrawn);
    std::ranges::sort(drawn);
  }
  for (const std::size_t i : drawn) out += bars(report, lines, i);
  // Where the backward pass and the step begin.
  for (std::size_t i = 1; i < kernels.size(); ++i) {
    if (kernels[i].launch.phase == kernels[i - 1].launch.phase) continue;
    const double begin = begin_of(report, kernels[i]);
    const std::size_t line = lines.of(begin);
    const double x = lines.x(begin - static_cast<double>(line) * lines.seconds);
    const double y = static_cast<double>(line) * kLineHeight;
    out += fmt::format(
        "<line class=\"phase\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\"/>"
        "<text class=\"phase\" x=\"{3:.1f}\" y=\"{4:.1f}\">{5}</text>\n",
        x, y - 4, y + kBarHeight, std::min(x + 4, kPageWidth - 60), y + 8, name(kernels[i].launch.phase));
  }
  return out + "</svg>\n";
}

std::string legend(const KernelReport& report) {
  std::array<double, estimate::kBottlenecks> seconds{};
  for (const ProfiledKernel& kernel : report.profile->kernels)
    seconds[static_cast<std::size_t>(kernel.bottleneck)] += kernel.all().value();
  const double all = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  std::string out = "<p class=\"legend\">";
  for (std::size_t i = 0; i < seconds.size(); ++i)
    if (all > 0)
      out += fmt::format("<span class=\"key {0}\"></span>bound by {0}, {1:.0f} % of the time &emsp; ",
                         name(static_cast<estimate::Bottleneck>(i)), 100 * seconds[i] / all);
  out += "</p>\n";
  if (report.demand == nullptr) return out;
  const Activity& a = report.captured ? report.demand->captured : report.demand->eager;
  return out + fmt::format(
                   "<p>Height: share of the SMs that are busy. Over all: SMs {:.0f} %, occupancy {:.0f} %, "
                   "DRAM {:.0f} %, tensor units {:.0f} %.</p>\n",
                   100 * a.sm, 100 * a.occupancy, 100 * a.dram, 100 * a.tensor);
}

/// Kernels of equal kind together, the longest first.
Table longest(const KernelReport& report) {
  Table all = kernels_table(report);
  std::vector<std::size_t> order(all.rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater(),
                           [&](std::size_t i) { return report.profile->kernels[i].seconds; });
  std::vector<std::vector<std::string>> rows;
  for (const std::size_t i : order)
    if (rows.size() < kLongest) rows.push_back(std::move(all.rows[i]));
  all.rows = std::move(rows);
  return all;
}

}  // namespace

std::string kernel_page(const KernelReport& report, std::string_view title) {
  const std::size_t count = report.profile->kernels.size();
  std::string out = page_head(title, "kernels.css");
  out += fmt::format(
      "<h1>{}</h1>\n<p>{} kernels in {} {}, in the order in which they run. Every line is the same time; "
      "point "
      "at a kernel to see what it is.{}{}</p>\n",
      escape_html(printable(title)), count,
      text(report.captured ? report.profile->seconds : report.profile->eager),
      report.captured ? "as a captured graph" : "run eagerly",
      count > kMostDrawn ? fmt::format(" Only the {} longest are drawn.", kMostDrawn) : "",
      report.profile->passes > 2 ? " Of the passes after the first one is drawn, and room for the others."
                                 : "");
  out += legend(report) + drawing(report);
  out += "<h2>The longest</h2>\n" + table_html(longest(report));
  return out + "</body>\n</html>\n";
}

}  // namespace plimsoll::report
