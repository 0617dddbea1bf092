#include "gpu_users.hpp"

#include <fstream>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "nvml/library.hpp"

namespace plimsoll {

GpuUse gpu_use(unsigned gpu) {
  GpuUse out;
  const auto library = nvml::open();
  if (!library) return out;
  if (const auto memory = (*library)->memory(gpu)) out.free = memory->free;
  const auto processes = (*library)->processes(gpu);
  if (!processes) return out;
  for (const nvml::Process& process : *processes) {
    std::ifstream comm(fmt::format("/proc/{}/comm", process.pid));
    std::string name;
    std::getline(comm, name);  // empty where the process is of another container
    out.users.push_back({process.pid, printable(name), process.used});
  }
  return out;
}

}  // namespace plimsoll
