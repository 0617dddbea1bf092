#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "hardware/calibration.hpp"
#include "hardware/device.hpp"
#include "measure/engine_run.hpp"
#include "nvml/library.hpp"
#include "probe/journal.hpp"

namespace plimsoll::probe {

/// What to calibrate, and where the result goes.
struct CalibrationRequest {
  std::filesystem::path engine;       ///< plimsoll-engine
  std::string engine_device = "cpu";  ///< "cpu", "cuda:0"
  hardware::Device device;            ///< its datasheet, which stays in the file beside what was measured
  std::filesystem::path output;       ///< the device file; points gather in OUTPUT.partial meanwhile
  std::vector<hardware::Ceiling> ceilings = {};    ///< measured by other studies, to be kept in the same file
  std::vector<std::string> remarks = {};           ///< of those studies
  std::vector<std::string> versions = {};          ///< beside those of the engine: "driver 580.95"
  std::vector<hardware::OperatorCase> cases = {};  ///< none: the designed grid for the device
  /// Of the same device: its points stay, and only cases that it lacks are timed.
  std::optional<hardware::Calibration> extended = {};
  std::int64_t threads = 0;  ///< of the CPU; 0: all cores
  std::string date;          ///< ISO, of today
  const nvml::Library* nvml = nullptr;
};

struct CalibrationProgress {
  std::size_t done = 0, of = 0, failed = 0;
  std::optional<double> seconds_left = {};
};

/// What whoever calibrates wants to hear meanwhile, all in the caller's thread.
struct CalibrationListener {
  std::function<void(const CalibrationProgress&)> on_progress = {};
  std::function<void(const std::string&)> on_remark = {};  ///< at once; remarks are in the result, too
  std::function<bool()> interrupted = {};                  ///< true: stop; what was measured is kept
};

struct CalibrationOutcome {
  hardware::Calibration calibration;
  std::size_t continued = 0;  ///< points that were there from an earlier start
  std::size_t failed = 0;     ///< cases that did not fit or are not supported
};

/// Times the cases through the engine, some hundred per process. Every point is in OUTPUT.partial as soon as
/// it is known: after an interruption, a crash or a power cut the next call goes on there. When all are
/// there, fits the classes, writes OUTPUT (device and calibration in one) and removes the journal. Nothing
/// where it was interrupted. Fails where the engine cannot run at all.
[[nodiscard]] Result<std::optional<CalibrationOutcome>> calibrate(const CalibrationRequest& request,
                                                                  const CalibrationListener& listener);

/// The calibration that a journal holds, fitted; of one that was interrupted, too.
[[nodiscard]] hardware::Calibration calibration_of(const Gathered& gathered, std::string date);

}  // namespace plimsoll::probe
