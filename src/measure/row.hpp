#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "base/error.hpp"
#include "hardware/this_machine.hpp"
#include "measure/engine_run.hpp"
#include "measure/measurement.hpp"
#include "nvml/library.hpp"

namespace plimsoll::hardware {
class OperatorCurves;
}

namespace plimsoll::measure {

/// What rows are measured with.
struct Instruments {
  std::filesystem::path engine;
  EngineLimits limits = {};
  const nvml::Library* nvml = nullptr;             ///< null: no driver
  const hardware::ThisMachine* machine = nullptr;  ///< for the estimate beside a GPU's row
  /// By GPU of the machine, null or absent: none. Shared, as they are large. With them the estimate is what
  /// `plimsoll estimate` says.
  std::vector<std::shared_ptr<const hardware::OperatorCurves>> curves = {};
  std::function<void(const job::Progress&)> on_progress = {};
  std::function<bool()> interrupted = {};
};

/// Runs the job and gathers its figures, the machine's conditions, its energy and the estimate. What went
/// wrong in the engine is part of the row. Nothing: interrupted.
[[nodiscard]] std::optional<Row> measure_row(const job::Job& job, std::int64_t batch,
                                             const Instruments& instruments);

/// Whether a window of passes is worth its time: some counter can be read.
[[nodiscard]] bool energy_can_be_read(std::string_view device, const nvml::Library* library);

}  // namespace plimsoll::measure
