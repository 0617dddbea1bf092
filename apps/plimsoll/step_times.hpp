#pragma once
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"
#include "command_line.hpp"
#include "report/tta_report.hpp"

namespace plimsoll {

/// How long a training takes where its step is estimated.
struct StepQuestion {
  std::string model;                 ///< a workload: resnet18,batch=128,optimizer=adamw
  std::vector<std::string> devices;  ///< none: this one
  std::vector<std::string> beside;   ///< workloads that run on the same device
  std::string sharing;               ///< how; empty: naively
  std::string steps;                 ///< to the target, as the person knows them; empty: as runs had

  void add_to(CommandLine& command);
  [[nodiscard]] bool asked() const { return !model.empty(); }
};

/// Adds what the training takes on each device, alone and, where others are named, beside them: by the steps
/// of each set-up that was judged, or by those that the person knows. `store`: of the runs that workloads
/// name.
[[nodiscard]] Status add_expected(report::TtaReport& report, const StepQuestion& question,
                                  const std::string& store);

/// The mean time of a step in the first minute of a recorded run, its first step left out.
[[nodiscard]] Result<Seconds> step_of_first_minute(const std::string& store, const std::string& run);

}  // namespace plimsoll
