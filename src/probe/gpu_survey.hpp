#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "cuda/job.hpp"
#include "hardware/this_machine.hpp"
#include "nvml/library.hpp"
#include "probe/cpu_studies.hpp"
#include "probe/survey.hpp"

namespace plimsoll::probe {

/// What a survey of a GPU is told about where it runs.
struct GpuHost {
  const nvml::Library* library = nullptr;          ///< null: no driver answers
  const hardware::ThisMachine* machine = nullptr;  ///< for the datasheet's figures
  std::string no_driver = {};                      ///< why `library` is null
  std::string date = {};                           ///< ISO, of today
};

/// plimsoll-cuda. machine_lacks where there is none; where no driver answers either, that is what is said.
[[nodiscard]] Result<std::filesystem::path> cuda_program_of(const GpuHost& host);

/// What to do there.
struct GpuStudies {
  std::vector<cuda::Job> jobs = {};
  bool power = false;  ///< idle and under load, too
};

/// Runs plimsoll-cuda for one job after the other, watching the GPU's clocks and who else is on it. What a
/// job that broke off had found stands, with a remark. Fails where there is no plimsoll-cuda, no driver or no
/// GPU (machine_lacks), and where nothing was found at all.
[[nodiscard]] Result<SurveyedDevice> survey_gpu(const GpuHost& host, const GpuStudies& studies,
                                                const Progress& progress,
                                                const std::function<bool()>& interrupted);

}  // namespace plimsoll::probe
