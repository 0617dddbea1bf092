#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "diagnose/series_catalogue.hpp"
#include "report/run_report.hpp"

namespace plimsoll::report {

/// Colours that the style sheet has; color_styles() makes more where a page needs them.
inline constexpr std::size_t kSheetColors = 16;

/// How the line goes from one value to the next.
enum class LineShape {
  straight,
  after,   ///< a step: a value holds from its moment on, as a counter's does
  before,  ///< a step: a value holds for the time up to its moment, as a sampled number of things does
};

/// One series within a chart.
struct ChartLine {
  std::vector<std::size_t> runs;  ///< places among the reports; several share what is drawn once
  std::size_t color = 0;          ///< no two lines of a chart have the same; a run has its own in all charts
  std::string metric;
  std::string label;
  bool secondary = false;
  LineShape shape = LineShape::straight;
  diagnose::Series series;  ///< within the report's span, and reduced
};

/// A line across, such as the device's memory.
struct ChartLimit {
  double value = 0;
  std::string label;
};

struct Chart {
  diagnose::SeriesGroup group = diagnose::SeriesGroup::metric;
  std::string title;
  diagnose::Shown shown = diagnose::Shown::plain;
  std::string unit = {};
  std::vector<ChartLine> lines;
  std::vector<ChartLimit> limits = {};
};

/// What is drawn of several runs, in the order of groups, those that are zero throughout last in theirs. Of
/// one run what belongs together is in one chart; of several every chart has one series, so that a colour is
/// a run. What runs that began together share (their GPU, their machine) is one line. Every series has at
/// most so many samples that the page stays of a few megabytes: 2,000 for up to four runs, fewer for more.
[[nodiscard]] std::vector<Chart> charts_of(std::span<const RunReport> reports);
[[nodiscard]] std::size_t most_samples_shown(std::size_t runs);

/// Whether nothing but zero is in it: it is not worth its room.
[[nodiscard]] bool is_zero(const Chart& chart);

/// Whether the two runs see the same thing in this series: the same GPU or machine, from about the same
/// moment.
[[nodiscard]] bool share_series(const RunReport& one, const RunReport& other, const std::string& metric);
/// Adds to a line what another run saw of the same after the line's end; `shift`: seconds from the line's
/// clock to the other's.
void extend(diagnose::Series& line, const diagnose::Series& more, double shift);

/// Rules of style for the colours from kSheetColors up to `count`; may be empty.
[[nodiscard]] std::string color_styles(std::size_t count);

/// The stretch of time that all charts show.
[[nodiscard]] diagnose::Span shown_span(std::span<const RunReport> reports);

/// A chart as an SVG element for readers without scripts; the page's script draws over it.
[[nodiscard]] std::string chart_svg(const Chart& chart, diagnose::Span span);

/// The charts as a part of the page, with what chooses among them.
[[nodiscard]] std::string charts_html(const std::vector<Chart>& charts, std::span<const RunReport> reports);
/// A patch of a run's colour.
[[nodiscard]] std::string run_key(std::size_t run);
/// What a run is called beside others: with its id where another has the same name.
[[nodiscard]] std::string title_among(std::span<const RunReport> reports, std::size_t run);

/// What the page's script reads.
[[nodiscard]] nlohmann::ordered_json charts_json(std::span<const Chart> charts,
                                                 std::span<const RunReport> reports);

}  // namespace plimsoll::report
