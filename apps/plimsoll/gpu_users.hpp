#pragma once
#include <chrono>
#include <map>
#include <memory>

#include "hardware/device.hpp"
#include "nvml/library.hpp"
#include "report/gpu_use.hpp"

namespace plimsoll {

using report::GpuUse;

/// What the processes at work on a GPU of this machine leave of its memory, at this moment.
[[nodiscard]] GpuUse gpu_use(unsigned gpu);

/// The device has no more than its users leave, where the driver tells.
void leave_to_users(hardware::Device& device, const GpuUse& use);

/// Watches this machine's GPUs from its making on: how busy they are shows only over some time.
class GpuWatch {
 public:
  GpuWatch();
  /// Memory and its users, now.
  [[nodiscard]] GpuUse use(unsigned gpu) const;
  /// How busy it was since the watch was made, which is waited for where that is too short to tell.
  void add_activity(GpuUse& use);

 private:
  std::unique_ptr<nvml::Library> library_;  ///< null: no driver
  std::map<unsigned, std::unique_ptr<nvml::ActivityWindow>> windows_;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

}  // namespace plimsoll
