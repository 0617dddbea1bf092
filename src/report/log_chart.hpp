#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace plimsoll::report {

struct LogPoint {
  double x = 0;
  double y = 0;
};

/// How a series is drawn.
enum class LogMark : std::uint8_t {
  line,    ///< points joined by a line
  dashed,  ///< the same, as a variant of the series of the same color
  points,  ///< points alone
  limit,   ///< a line without points: what the others cannot pass
  curve,   ///< a line without points, where there are too many of them to be drawn
  beyond,  ///< the same, pale: where the curve of that color would go on if it could
  stop,    ///< bars across the curve of that color: it ends here
};

struct LogSeries {
  std::string label;
  std::vector<LogPoint> points;  ///< those that are not positive and finite are left out
  std::size_t color = 0;  ///< of the chart's palette, which begins again after eight; curves are then dashed
  LogMark mark = LogMark::line;
  bool part = false;  ///< of the series of the same color: without a key in the legend
};

/// What an axis shows. Ticks are decades, or powers of two where `binary`; values have prefixes before the
/// unit.
struct LogAxis {
  std::string title;
  std::string unit = {};  ///< "s", "B/s"; empty: a plain number
  bool binary = false;
};

/// Lines over two logarithmic axes: time against size, latency against batch, a roofline.
struct LogChart {
  std::string name;  ///< of its file: letters, digits, hyphens
  std::string title;
  LogAxis x, y;
  std::vector<LogSeries> series;
  std::string note = {};  ///< a line below
};

enum class SvgUse : std::uint8_t { file, page };

/// As SVG: a document of its own, or an element of a page that has the styles of log_chart.css. Texts may
/// come from anywhere. A point says its values when pointed at.
[[nodiscard]] std::string to_svg(const LogChart& chart, SvgUse use);

/// Several charts below each other, as one document.
[[nodiscard]] std::string to_svg(std::span<const LogChart> charts);

}  // namespace plimsoll::report
