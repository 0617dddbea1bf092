#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "estimate/sweep.hpp"
#include "report/log_chart.hpp"
#include "report/table.hpp"

namespace plimsoll::report {

struct SweepRow {
  const hardware::Device* device = nullptr;
  bool calibrated = false;
  estimate::SweptDevice swept;
  std::optional<estimate::LargestBatch> largest = {};  ///< where it was searched for, beyond the sweep, too
};

/// A network over many batches on several devices, ready to be shown.
struct SweepReport {
  std::string model;
  network::Setting setting;
  std::vector<std::int64_t> batches;  ///< ascending
  std::vector<SweepRow> rows;
  std::vector<std::string> notes = {};
};

/// "resnet50 · inference in fp32 · 9 batches from 1 to 256"
[[nodiscard]] std::string sweep_title(const SweepReport& report);
/// A row for each device: what fits, the smallest batch's time, the knee, the best throughput.
[[nodiscard]] Table sweep_table(const SweepReport& report);
/// What the columns mean, and of which devices no time is known.
[[nodiscard]] std::vector<std::string> sweep_notes(const SweepReport& report);
[[nodiscard]] std::string sweep_text(const SweepReport& report, const TextStyle& style);

/// Every point of every device; unknown is null.
[[nodiscard]] nlohmann::ordered_json sweep_json(const SweepReport& report);

/// Latency and throughput against batch, a line per device that ends at its memory's limit.
[[nodiscard]] std::vector<LogChart> sweep_charts(const SweepReport& report);
/// One HTML file that needs nothing else: charts, table, notes.
[[nodiscard]] std::string sweep_page(const SweepReport& report);

}  // namespace plimsoll::report
