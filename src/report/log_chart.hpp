#pragma once
#include <cstdint>
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
};

struct LogSeries {
  std::string label;
  std::vector<LogPoint> points;  ///< those that are not positive and finite are left out
  std::size_t color = 0;         ///< of the chart's palette, which begins again after eight
  LogMark mark = LogMark::line;
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

}  // namespace plimsoll::report
