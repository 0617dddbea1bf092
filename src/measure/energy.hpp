#pragma once
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "measure/measurement.hpp"
#include "nvml/library.hpp"
#include "telemetry/package_energy.hpp"

namespace plimsoll::measure {

/// A counter of joules that a window of passes can be read from.
class EnergyCounter {
 public:
  virtual ~EnergyCounter() = default;
  [[nodiscard]] virtual std::optional<Joules> read() = 0;
  [[nodiscard]] virtual double period() const = 0;  ///< seconds between its updates
  [[nodiscard]] virtual std::string source() const = 0;

 protected:
  EnergyCounter() = default;
  EnergyCounter(const EnergyCounter&) = default;
  EnergyCounter& operator=(const EnergyCounter&) = default;
};

/// The board's own; null where it has none, or where only a slice of it is ours.
[[nodiscard]] std::unique_ptr<EnergyCounter> gpu_counter(const nvml::Library& library, unsigned device);
/// All processor packages together; null where this user may read none.
[[nodiscard]] std::unique_ptr<EnergyCounter> cpu_counter(const std::filesystem::path& sys = "/sys");

/// Reads a counter where a window of steady passes begins and ends.
class EnergyMeter {
 public:
  void begin(EnergyCounter* counter);  ///< null: none
  /// Nothing where the counter did not answer, or the window was shorter than ten of its periods.
  [[nodiscard]] std::optional<Energy> end(const job::Window& window);

 private:
  EnergyCounter* counter_ = nullptr;
  std::optional<Joules> begin_;
};

}  // namespace plimsoll::measure
