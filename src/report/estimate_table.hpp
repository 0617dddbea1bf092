#pragma once
#include <span>
#include <string>

#include "estimate/time/time.hpp"
#include "report/memory_report.hpp"
#include "report/table.hpp"

namespace plimsoll::report {

/// One batch on one device. A view.
struct EstimateRow {
  const MemoryReport* memory = nullptr;
  const estimate::TimeEstimate* time = nullptr;  ///< null: not known
};

/// Devices and batches compared, a row for each: memory, whether it fits, time with its interval, throughput,
/// energy, what binds, and whether that was calibrated. What is not known says so.
[[nodiscard]] std::string estimate_table(std::span<const EstimateRow> rows, const TextStyle& style);

// What tables of estimates share.

/// "yes", "NO", "unknown"
[[nodiscard]] std::string fits_word(const std::optional<bool>& fits);
/// The id, by which it can be asked for; of a device without one the name.
[[nodiscard]] std::string device_word(const hardware::Device& device);
/// Colours "yes" and "NO" where they stand as words of their own, after the table was laid out.
[[nodiscard]] std::string colour_fits(const std::string& table, const TextStyle& style);

}  // namespace plimsoll::report
