#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "estimate/memory/memory.hpp"
#include "estimate/time/time.hpp"
#include "hardware/device.hpp"
#include "report/gpu_use.hpp"
#include "report/inspection.hpp"
#include "report/memory_bar.hpp"
#include "report/table.hpp"

namespace plimsoll::report {

/// What a network needs of one device's memory in one setting, ready to be shown. A view, as Inspection is.
struct MemoryReport {
  Inspection inspection;
  network::Setting setting;
  std::int64_t batch = 1;
  hardware::Device device;
  estimate::MemoryEstimate estimate;
  std::optional<estimate::LargestBatch> largest = {};
  std::optional<estimate::TimeEstimate> largest_time = {};  ///< of that batch, where the device has figures
  std::vector<estimate::Remedy> remedies = {};
  std::vector<OtherUser> others = {};
};

/// What the smallest capacity with which the run succeeds is made of: the peak by purpose, what the allocator
/// cannot fill, and the CUDA context. The parts make up minimum_device(), so that their shares are of all
/// that is needed and the same wherever they are shown. Workspaces that libraries can do without shrink where
/// the smallest capacity has no room for them.
[[nodiscard]] std::vector<BarPart> memory_parts(const estimate::MemoryEstimate& estimate);
/// "10.7 %"
[[nodiscard]] std::string need_share_text(double share);
/// The parts as JSON: name, bytes, and the share of all.
[[nodiscard]] nlohmann::ordered_json parts_json(const estimate::MemoryEstimate& estimate);

/// "training with adam in fp32, batch 32", and what else was set.
[[nodiscard]] std::string setting_text(const MemoryReport& report);

/// What the figures rest on: assumed dimensions, a context measured elsewhere, operators without a rule, …
[[nodiscard]] std::vector<std::string> memory_notes(const MemoryReport& report);

/// The remedies that need less than the setting does, in people's units.
[[nodiscard]] Table remedies_table(std::span<const estimate::Remedy> remedies, Bytes now);

[[nodiscard]] std::string memory_text(const MemoryReport& report, const TextStyle& style);

/// The object `memory` of the machine-readable answer; what is not known is null.
[[nodiscard]] nlohmann::ordered_json to_json(const MemoryReport& report);
[[nodiscard]] nlohmann::ordered_json to_json(std::span<const estimate::Remedy> remedies);

}  // namespace plimsoll::report
