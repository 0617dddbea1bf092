#include "gpu_users.hpp"

#include <fstream>
#include <thread>

#include <fmt/format.h>

#include "base/printable.hpp"

namespace plimsoll {
namespace {

/// Counters over less say little (nvml/activity.hpp).
constexpr std::chrono::milliseconds kShortestWindow{120};

GpuUse use_of(const nvml::Library& library, unsigned gpu) {
  GpuUse out{.number = gpu};
  if (const auto memory = library.memory(gpu)) {
    out.total = memory->total;
    out.used = memory->used - memory->reserved.value_or(Bytes());
    out.free = memory->free;
  }
  const auto processes = library.processes(gpu);
  if (!processes) return out;
  for (const nvml::Process& process : *processes) {
    std::ifstream comm(fmt::format("/proc/{}/comm", process.pid));
    std::string name;
    std::getline(comm, name);  // empty where the process is of another container
    out.users.push_back({process.pid, printable(name), process.used});
  }
  return out;
}

}  // namespace

GpuUse gpu_use(unsigned gpu) {
  const auto library = nvml::open();
  return library ? use_of(**library, gpu) : GpuUse{.number = gpu};
}

GpuWatch::GpuWatch() {
  auto library = nvml::open();
  if (!library) return;
  library_ = std::move(*library);
  const unsigned count = library_->device_count().value_or(0);
  for (unsigned gpu = 0; gpu < count; ++gpu)
    if (auto window = library_->watch_activity(gpu)) windows_[gpu] = std::move(*window);
}

GpuUse GpuWatch::use(unsigned gpu) const {
  return library_ ? use_of(*library_, gpu) : GpuUse{.number = gpu};
}

void GpuWatch::add_activity(GpuUse& use) {
  if (!library_) return;
  if (const auto utilization = library_->utilization(use.number)) use.utilization = utilization->gpu;
  const auto window = windows_.find(use.number);
  if (window == windows_.end()) return;
  std::this_thread::sleep_until(begun_ + kShortestWindow);
  if (const auto activity = window->second->advance(false)) use.sm_activity = (*activity)[nvml::kSmActivity];
}

void leave_to_users(hardware::Device& device, const GpuUse& use) {
  if (use.free)
    device.usable_memory = hardware::DeviceFigure{static_cast<double>(use.free->count()),
                                                  Provenance::measured, "free at this moment, by the driver"};
}

}  // namespace plimsoll
