#pragma once
#include <array>
#include <optional>

#include "base/units.hpp"
#include "hardware/calibration.hpp"
#include "hardware/device.hpp"

namespace plimsoll::estimate {

/// What a pass takes of the power supply: what the device draws idle, and something per FLOP and per byte. By
/// a calibration's ceilings, or else by the board's limit and how busy the pass keeps it.
class EnergySum {
 public:
  void add(const hardware::OperatorWork& work, hardware::Arithmetic arithmetic, Seconds seconds);
  /// Nothing where the device has neither.
  [[nodiscard]] std::optional<Joules> joules(const hardware::Device& device, bool calibrated) const;

 private:
  std::array<double, hardware::kArithmetics> flops_{};
  double bytes_ = 0;
  Seconds seconds_;
};

}  // namespace plimsoll::estimate
