#include "measure/measurement.hpp"

#include <algorithm>
#include <array>

namespace plimsoll::measure {

std::optional<Load> load_of(const Measurement& measurement) {
  std::vector<double> seconds, bytes;
  for (const Row& row : measurement.rows) {
    if (!row.loaded) continue;
    seconds.push_back(row.loaded->seconds);
    bytes.push_back(static_cast<double>(row.loaded->bytes));
  }
  if (seconds.empty()) return std::nullopt;
  return Load{median(seconds), Bytes::rounded(median(bytes))};
}

std::vector<Percentile> percentiles(const std::vector<double>& latencies, double confidence) {
  constexpr std::array kPercents = {50.0, 90.0, 95.0, 97.0, 99.0, 99.9};
  std::vector<double> sorted = latencies;
  std::ranges::sort(sorted);
  std::vector<Percentile> out;
  for (const double percent : kPercents) {
    Percentile& percentile = out.emplace_back(percent);
    if (sorted.empty()) continue;
    const Quantile found = quantile_of(sorted, percent / 100, confidence);
    if (found.low && found.high) percentile.seconds = found;
  }
  return out;
}

std::optional<Quantile> scene_seconds(const Row& row, double confidence) {
  if (!row.latencies) return std::nullopt;
  if (row.latencies->seconds.empty()) return Quantile{row.latencies->elapsed, {}, {}};
  return median_of(row.latencies->seconds, confidence);
}

}  // namespace plimsoll::measure
