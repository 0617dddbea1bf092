#include "run/job_hardware.hpp"

#include <cstdlib>
#include <optional>

namespace plimsoll::running {

std::string title_of(const JobSpec& job, std::size_t index) {
  if (!job.name.empty()) return job.name;
  return job.command.empty() ? fmt::format("job {}", index + 1) : job.command.front();
}

Result<std::vector<std::vector<ChosenDevice>>> devices_of(const std::vector<JobSpec>& jobs,
                                                          const nvml::Library* nvml) {
  const char* set = std::getenv("CUDA_VISIBLE_DEVICES");
  const std::optional<std::string> visible = set == nullptr ? std::nullopt : std::optional<std::string>(set);
  std::vector<std::vector<ChosenDevice>> out;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    Result<std::vector<ChosenDevice>> devices =
        jobs[i].devices.empty() ? visible_devices(nvml, visible) : choose_devices(nvml, jobs[i].devices);
    if (!devices) return std::unexpected(std::move(devices).error().within(title_of(jobs[i], i)));
    if (jobs[i].sharing == Sharing::mps && devices->empty())
      return std::unexpected(Error{"MPS needs an NVIDIA GPU, and this machine has none", title_of(jobs[i], i),
                                   "Mode naive runs without one.", Error::Kind::machine_lacks});
    out.push_back(*std::move(devices));
  }
  return out;
}

Result<JobHardware> open_hardware(const std::vector<JobSpec>& jobs) {
  JobHardware hardware;
  if (auto nvml = nvml::open()) hardware.nvml = *std::move(nvml);
  if (auto nvml = nvml::open()) hardware.sampled = *std::move(nvml);
  auto devices = devices_of(jobs, hardware.nvml.get());
  if (!devices) return std::unexpected(std::move(devices).error());
  hardware.devices = *std::move(devices);
  if (hardware.nvml)
    if (const auto driver = hardware.nvml->driver_version()) hardware.driver = *driver;
  return hardware;
}

}  // namespace plimsoll::running
