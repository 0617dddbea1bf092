#pragma once
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "estimate/floor.hpp"
#include "estimate/memory/memory.hpp"
#include "hardware/device.hpp"
#include "network/setting.hpp"
#include "report/inspection.hpp"
#include "report/table.hpp"

namespace plimsoll::report {

/// One device against what a network needs.
struct WeighedDevice {
  hardware::Device device;
  estimate::Floors floors;
  bool here = false;  ///< of this machine
  std::optional<estimate::MemoryEstimate> memory = {};
  std::optional<estimate::LargestBatch> largest = {};  ///< absent where the device's memory is unknown

  [[nodiscard]] std::optional<bool> fits() const { return memory ? memory->fits : floors.fits; }
};

/// The one-page answer of `plimsoll weigh`.
struct Weighing {
  Inspection inspection;
  network::Mode mode;
  network::Precision precision;
  network::Optimizer optimizer;
  estimate::Needs needs;
  std::vector<WeighedDevice> devices;
};

[[nodiscard]] std::string weighing_text(const Weighing& weighing, const TextStyle& style);
[[nodiscard]] nlohmann::ordered_json to_json(const Weighing& weighing);

}  // namespace plimsoll::report
