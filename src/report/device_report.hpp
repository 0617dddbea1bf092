#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/device.hpp"
#include "hardware/prices.hpp"
#include "report/table.hpp"

namespace plimsoll::report {

/// One figure of a device: what it is, and how to show it.
struct DeviceFact {
  std::string name;
  const std::optional<hardware::DeviceFigure>* figure;
  std::string (*show)(double);
  std::string_view unit;
};
/// All that a device can have, known or not. They point into the device.
[[nodiscard]] std::vector<DeviceFact> device_facts(const hardware::Device& device);

/// A device, ready to be shown. A view: all it names must outlive it.
struct DeviceReport {
  const hardware::Device& device;
  const hardware::Calibration* calibration = nullptr;  ///< null: there is none
  const hardware::Offer* cheapest = nullptr;           ///< null: no price list has it
};

/// A page: the figures, each with a number that stands for its source, the price, and of what was measured
/// the ceilings and how far predictions are off.
[[nodiscard]] std::string device_text(const DeviceReport& report, const TextStyle& style);
/// The same with every ceiling at every size and every class of operators.
[[nodiscard]] std::string device_details(const DeviceReport& report, const TextStyle& style);

}  // namespace plimsoll::report
