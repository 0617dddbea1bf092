#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "nvml/library.hpp"
#include "run/devices.hpp"
#include "run/job.hpp"

namespace plimsoll::running {

/// By which a person knows a job.
[[nodiscard]] std::string title_of(const JobSpec& job, std::size_t index);

/// The GPUs that jobs run on, and the doors to them.
struct JobHardware {
  std::shared_ptr<nvml::Library> nvml = {};             ///< null where there is no NVML
  std::shared_ptr<nvml::Library> sampled = {};          ///< the sampler's own
  std::vector<std::vector<ChosenDevice>> devices = {};  ///< of each job
  std::string driver = {};
};

/// Of each job: those it names, else those that CUDA would take. An error where one is not there, or a job
/// wants MPS and there is none.
[[nodiscard]] Result<std::vector<std::vector<ChosenDevice>>> devices_of(const std::vector<JobSpec>& jobs,
                                                                        const nvml::Library* nvml);

/// Asks the driver, which may take long.
[[nodiscard]] Result<JobHardware> open_hardware(const std::vector<JobSpec>& jobs);

}  // namespace plimsoll::running
