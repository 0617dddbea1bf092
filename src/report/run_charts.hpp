#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "report/run_report.hpp"
#include "report/series_catalogue.hpp"

namespace plimsoll::report {

/// How many colours the page has for runs; then they begin again.
inline constexpr std::size_t kRunColors = 8;

/// One series of one run within a chart.
struct ChartLine {
  std::size_t run = 0;    ///< place among the reports
  std::size_t color = 0;  ///< one for each run; of a single run one for each GPU
  std::string metric;
  std::string label;
  bool secondary = false;
  Series series;  ///< within the report's span, and reduced
};

/// A line across, such as the device's memory.
struct ChartLimit {
  double value = 0;
  std::string label;
};

struct Chart {
  SeriesGroup group = SeriesGroup::metric;
  std::string title;
  Shown shown = Shown::plain;
  std::string unit = {};
  std::vector<ChartLine> lines;
  std::vector<ChartLimit> limits = {};
};

/// What is drawn of several runs, in the order of groups. Every series has at most so many samples that the
/// page stays of a few megabytes: 2,000 for up to four runs, fewer for more.
[[nodiscard]] std::vector<Chart> charts_of(std::span<const RunReport> reports);
[[nodiscard]] std::size_t most_samples_shown(std::size_t runs);

/// The stretch of time that all charts show.
[[nodiscard]] Span shown_span(std::span<const RunReport> reports);

/// A chart as an SVG element for readers without scripts; the page's script draws over it.
[[nodiscard]] std::string chart_svg(const Chart& chart, Span span);

/// What the page's script reads.
[[nodiscard]] nlohmann::ordered_json charts_json(std::span<const Chart> charts,
                                                 std::span<const RunReport> reports);

}  // namespace plimsoll::report
