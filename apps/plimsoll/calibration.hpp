#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include "hardware/this_machine.hpp"
#include "interruption.hpp"
#include "nvml/library.hpp"
#include "probe/survey.hpp"
#include "report/table.hpp"

namespace plimsoll {

/// What `plimsoll probe --calibrate` does once the ceilings are known.
struct CalibrationTask {
  std::filesystem::path engine;
  std::string engine_device;       ///< "cpu", "cuda:0"
  probe::SurveyedDevice ceilings;  ///< the device, and what was measured of it without the engine
  std::optional<hardware::Calibration> extended = {};  ///< one whose points stay
  std::filesystem::path output = {};
  std::string date = {};
  const nvml::Library* nvml = nullptr;
  bool json = false;
};

/// Where the result would go, before anything is measured: as given, where that folder is there, or the place
/// where estimates for this machine look for it, which is made.
[[nodiscard]] Result<std::filesystem::path> calibration_file(const std::string& given,
                                                             const hardware::Device& device);

/// Times operators through the engine, writes the device file, prints a summary. Exit code.
[[nodiscard]] Result<int> run_calibration(const CalibrationTask& task, Interruption& interruption,
                                          const report::TextStyle& style);

}  // namespace plimsoll
