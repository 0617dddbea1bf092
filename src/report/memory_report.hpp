#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "estimate/memory/memory.hpp"
#include "hardware/device.hpp"
#include "report/gpu_use.hpp"
#include "report/inspection.hpp"
#include "report/memory_bar.hpp"
#include "report/table.hpp"

namespace plimsoll::report {

/// What a network needs of one device's memory in one setting, ready to be shown. A view, as Inspection is.
struct MemoryReport {
  Inspection inspection;
  estimate::MemorySetting setting;
  std::int64_t batch = 1;
  hardware::Device device;
  estimate::MemoryEstimate estimate;
  std::optional<estimate::LargestBatch> largest = {};
  std::vector<estimate::Measure> measures = {};
  std::vector<OtherUser> others = {};
};

/// What the device's memory holds at the peak, by purpose, with what the allocator keeps unused and the
/// CUDA context. Of the unused part no more than there is room for; where the run does not fit, no more than
/// it cannot do without: the parts pass the capacity only where it does not fit.
[[nodiscard]] std::vector<BarPart> memory_parts(const estimate::MemoryEstimate& estimate);

/// "training with adam in fp32, batch 32", and what else was set.
[[nodiscard]] std::string setting_text(const MemoryReport& report);

/// What the figures rest on: assumed dimensions, a context measured elsewhere, operators without a rule, …
[[nodiscard]] std::vector<std::string> memory_notes(const MemoryReport& report);

/// The measures that need less than the setting does, in people's units.
[[nodiscard]] Table measures_table(std::span<const estimate::Measure> measures, Bytes now);

[[nodiscard]] std::string memory_text(const MemoryReport& report, const TextStyle& style);

/// The object `memory` of the machine-readable answer; what is not known is null.
[[nodiscard]] nlohmann::ordered_json to_json(const MemoryReport& report);
[[nodiscard]] nlohmann::ordered_json to_json(std::span<const estimate::Measure> measures);

}  // namespace plimsoll::report
