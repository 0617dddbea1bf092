#pragma once
#include <string>
#include <vector>

#include "report/weighing.hpp"

namespace plimsoll::report {

// What the page of `plimsoll weigh` says, piece by piece; the terminal's page and the browser's differ only
// in how they set it. Everything is fit to print.

/// "training", "adam", "fp32": what is done with the network.
[[nodiscard]] std::vector<std::string> setting_words(const Weighing& weighing);
/// "25.6 M parameters", "4.09 GMAC per image", "batch 128".
[[nodiscard]] std::vector<std::string> size_words(const Weighing& weighing);

/// "GPU 0", "CPU" of this machine; else the device's id.
[[nodiscard]] std::string device_label(const WeighedDevice& device);
/// "NVIDIA H200 SXM, 140 GiB".
[[nodiscard]] std::string device_words(const WeighedDevice& device);
/// "in use 61.0 GiB: python 42.1 GiB, python 18.9 GiB"; nothing where nobody uses it.
[[nodiscard]] std::string use_words(const WeighedDevice& device);
/// "SM activity 31 % (nvidia-smi says 100 %)"; nothing where neither is told.
[[nodiscard]] std::string activity_words(const WeighedDevice& device);

/// "14.6 GiB ±3 %", or "unknown".
[[nodiscard]] std::string memory_words(const WeighedDevice& device);
/// "fits", "fits tightly", "does not fit", "memory unknown".
[[nodiscard]] std::string fit_words(const WeighedDevice& device);
/// Its largest batch, or what would make it fit.
[[nodiscard]] std::string room_words(const WeighedDevice& device, const Weighing& weighing);
/// What the need is made of, as shares of all of it, and where the peak is.
[[nodiscard]] std::vector<std::string> peak_words(const WeighedDevice& device);
/// "62.0 ms a step", "2.07 k images/s", "35.0 J a step", "bound by memory".
[[nodiscard]] std::vector<std::string> time_words(const WeighedDevice& device, const Weighing& weighing);
/// "calibrated ±8 %".
[[nodiscard]] std::string basis_words(const WeighedDevice& device);
/// The measurement, each figure with the estimate's error.
[[nodiscard]] std::vector<std::string> measured_words(const WeighedDevice& device, const Weighing& weighing);
/// What speaks against the measurement.
[[nodiscard]] std::vector<std::string> measured_doubts(const WeighedDevice& device);

/// A device in a few words: "h200 1.62 ms".
struct Elsewhere {
  std::vector<std::string> fits, tight, too_small, unknown;
  std::string basis;  ///< what the times rest on
};
[[nodiscard]] Elsewhere elsewhere(const Weighing& weighing);

/// The offers worth naming: of this machine's device, the cheapest and the quickest.
struct CostLine {
  const WeighedDevice* device = nullptr;
  std::string what;  ///< "cheapest"
};
[[nodiscard]] std::vector<CostLine> cost_lines(const Weighing& weighing);
/// "$0.14", "10.3 min", "1.20 kWh", "180 g CO2e in Denmark".
[[nodiscard]] std::vector<std::string> cost_words(const WeighedCost& cost, const Weighing& weighing);
/// Dates and sources of the prices, and what the energy is multiplied by.
[[nodiscard]] std::string cost_basis(const Weighing& weighing);

/// What the figures rest on and what is missing.
[[nodiscard]] std::vector<std::string> weighing_notes(const Weighing& weighing);

/// Estimated over measured, less one.
[[nodiscard]] std::optional<double> time_error(const WeighedDevice& device);
[[nodiscard]] std::optional<double> memory_error(const WeighedDevice& device);

}  // namespace plimsoll::report
