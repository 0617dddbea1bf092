#include "report/point_lines.hpp"

#include <cmath>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "report/table.hpp"
#include "store/timestamp.hpp"

namespace plimsoll::report {
namespace {

constexpr std::size_t kPiece = std::size_t{256} << 10;

std::string number_text(double value, PointFormat format) {
  if (std::isfinite(value)) return fmt::format("{}", value);
  const std::string_view name = std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
  return format == PointFormat::json ? fmt::format("\"{}\"", name) : std::string(name);
}

std::string json_text(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// What is the same in every line of a metric, up to the time.
std::string line_head(const store::Run& run, const std::string& metric, PointFormat format) {
  const auto known = run.metrics.find(metric);
  const std::string unit = known == run.metrics.end() ? "" : known->second.description.unit;
  if (format == PointFormat::json)
    return fmt::format(R"({{"run":{},"metric":{},"unit":{},"time":")", json_text(run.id), json_text(metric),
                       json_text(unit));
  return fmt::format("{},{},{},", csv_cell(printable(run.id)), csv_cell(printable(metric)),
                     csv_cell(printable(unit)));
}

}  // namespace

Status PointLines::begin() {
  return sink_(format_ == PointFormat::csv ? "run,metric,unit,time,seconds,step,value\r\n" : "{\"points\":[");
}

Status PointLines::add(const store::Run& run, const std::string& metric,
                       std::span<const store::Point> points) {
  const std::string head = line_head(run, metric, format_);
  std::string piece;
  for (const store::Point& p : points) {
    const double since = 1e-6 * (static_cast<double>(p.time) - static_cast<double>(run.start));
    const std::string value = number_text(p.value, format_);
    if (format_ == PointFormat::csv)
      fmt::format_to(std::back_inserter(piece), "{}{},{:.6f},{},{}\r\n", head, store::time_text(p.time),
                     since, p.step, value);
    else
      fmt::format_to(std::back_inserter(piece), R"({}{}{}","seconds":{:.6f},"step":{},"value":{}}})",
                     written_ == 0 ? "\n" : ",\n", head, store::time_text(p.time), since, p.step, value);
    ++written_;
    if (piece.size() < kPiece) continue;
    PLIMSOLL_TRY(sink_(piece));
    piece.clear();
  }
  return sink_(piece);
}

Status PointLines::end() {
  return sink_(format_ == PointFormat::csv ? "" : "\n]}\n");
}

}  // namespace plimsoll::report
