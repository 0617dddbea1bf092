#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "estimate/cost.hpp"
#include "estimate/floor.hpp"
#include "estimate/memory/memory.hpp"
#include "estimate/time/time.hpp"
#include "hardware/device.hpp"
#include "measure/measurement.hpp"
#include "network/setting.hpp"
#include "plan/several.hpp"
#include "report/gpu_use.hpp"
#include "report/inspection.hpp"
#include "report/table.hpp"

namespace plimsoll::report {

/// What an amount of work costs on a machine that somebody rents out.
struct WeighedCost {
  std::string offer;         ///< "p5en.48xlarge"
  std::int64_t devices = 1;  ///< that it has; one of them works
  estimate::HourlyRate rate;
  Money money;
  Seconds time;
  std::optional<estimate::Footprint> footprint = {};  ///< absent where the energy is unknown
};

/// One device against what a network needs.
struct WeighedDevice {
  hardware::Device device;
  estimate::Floors floors = {};
  bool here = false;               ///< of this machine
  bool in_full = false;            ///< has a part of the page for itself
  std::optional<GpuUse> use = {};  ///< of this machine's GPU
  std::optional<estimate::MemoryEstimate> memory = {};
  std::optional<estimate::LargestBatch> largest = {};  ///< absent where the device's memory is unknown
  std::vector<estimate::Remedy> remedies = {};         ///< where it does not fit: what would lower it
  std::optional<plan::SeveralDevices> several = {};    ///< and how many of them would do
  std::optional<estimate::TimeEstimate> time = {};
  std::string no_time = {};  ///< why there is none
  std::optional<WeighedCost> cost = {};
  std::optional<measure::Row> measured = {};
  std::vector<std::string> notes = {};

  [[nodiscard]] std::optional<bool> fits() const { return memory ? memory->fits : floors.fits; }
  [[nodiscard]] bool measured_captured() const {
    return measured && measured->measured && measured->measured->captured;
  }
};

/// The work that costs are told for: "an epoch of 1,281,167 images".
struct WeighedWork {
  double passes = 0;
  std::string words;
};

/// The one-page answer of `plimsoll weigh`.
struct Weighing {
  Inspection inspection;
  network::Setting setting;
  estimate::Needs needs;
  std::int64_t batch = 1;
  WeighedWork work = {};
  std::vector<WeighedDevice> devices = {};
  std::string country = {};  ///< whose grid footprints are of; empty: none was named
  std::string next = {};     ///< the command to go on with
  bool can_measure = false;  ///< an engine is there, and was not asked to
};

/// "image", "sequence" or "sample": what a batch is made of.
[[nodiscard]] std::string_view sample_word(const Inspection& inspection);

/// The page for a terminal: this machine, or the devices that were named, each in full; others in short.
[[nodiscard]] std::string weighing_text(const Weighing& weighing, const TextStyle& style);
/// The devices with what they need at least: no program is faster than its floors.
[[nodiscard]] Table floor_table(const Weighing& weighing);
[[nodiscard]] std::string floors_text(const Weighing& weighing, const TextStyle& style);
[[nodiscard]] nlohmann::ordered_json to_json(const Weighing& weighing);

}  // namespace plimsoll::report
