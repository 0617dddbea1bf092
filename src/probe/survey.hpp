#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "hardware/device.hpp"
#include "hardware/calibration.hpp"
#include "hardware/device.hpp"
#include "probe/study.hpp"

namespace plimsoll::probe {

/// One device of this machine, and what its studies found.
struct SurveyedDevice {
  hardware::Device device;
  std::string setup = {};  ///< "16 threads", "CUDA 13.0, driver 580.95, cuBLASLt 13.0.2"
  Findings findings = {};
  std::vector<std::string> doubts = {};          ///< why its figures are to be taken with care
  std::vector<hardware::Ceiling> ceilings = {};  ///< out of the findings, and of counters of energy
};

/// All that `plimsoll probe` has to tell.
struct Survey {
  std::string date;  ///< ISO
  std::optional<SurveyedDevice> cpu = {};
  std::optional<SurveyedDevice> gpu = {};
  std::optional<Error> no_gpu = {};  ///< why there is none, where one was looked for
};

/// Puts what the findings say before the ceilings that are there, and gives all their share of the peak.
void complete_ceilings(SurveyedDevice& device, const std::string& date);

}  // namespace plimsoll::probe
