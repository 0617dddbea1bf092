#pragma once
#include <optional>

#include "base/units.hpp"
#include "hardware/calibration.hpp"
#include "hardware/device.hpp"

namespace plimsoll::estimate {

/// What a pass takes of the power supply; 95 %.
struct EnergyEstimate {
  Joules joules, low, high;
};

/// Adds up what the kernels of a pass take. A device draws its idle power, and more with what a kernel
/// reaches of its ceilings: most of that soon, since multiprocessors that wait are awake as well. Ceilings
/// and the power at them are a calibration's, or else usual shares of the datasheet's peaks and of the
/// board's limit.
class EnergyMeter {
 public:
  EnergyMeter(const hardware::Device& device, bool calibrated);
  /// `waiting`: of the seconds, those in which the device does nothing but wait for the kernel's code;
  /// `times`: that it runs.
  void add(const hardware::OperatorWork& work, hardware::Arithmetic arithmetic, Seconds seconds,
           Seconds waiting = {}, double times = 1);
  /// What the device draws while it waits; nothing where no figure tells it.
  [[nodiscard]] std::optional<Watts> idle() const;
  /// Of all kernels so far, which take `seconds` in all and at most `high`, with 95 %: what is not known of
  /// the power comes on top. Nothing where the device has figures for neither.
  [[nodiscard]] std::optional<EnergyEstimate> estimate(Seconds seconds, Seconds high) const;

 private:
  /// What the device draws beside its idle power at full rate, and that rate.
  struct Load {
    double watts = 0;
    double rate = 0;  ///< B/s, FLOP/s
    [[nodiscard]] double power_at(double reached) const;
  };
  void calibrate(const hardware::Calibration& calibration);
  void take_datasheet();
  /// `idle_seconds`: of the seconds, those in which nothing is computed.
  [[nodiscard]] double joules_of(const hardware::OperatorWork& work, hardware::Arithmetic arithmetic,
                                 double seconds, double idle_seconds) const;
  [[nodiscard]] std::optional<double> product_rate(hardware::Arithmetic arithmetic) const;

  const hardware::Device& device_;
  std::optional<double> idle_;  ///< W
  std::optional<double> most_;  ///< W
  Load memory_, vector_, matrix_;
  double reached_ = 1;  ///< of the datasheet's rate of matrix units, by products that fill the device
  bool calibrated_ = false;
  double joules_ = 0;
  double longer_joules_ = 0;  ///< if every kernel took a little longer
};

}  // namespace plimsoll::estimate
