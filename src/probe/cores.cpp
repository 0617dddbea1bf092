#include "probe/cores.hpp"

#include <algorithm>
#include <cmath>
#include <thread>

#include <sched.h>

#include "base/files.hpp"
#include "hardware/cpu.hpp"
#include "telemetry/cgroup.hpp"
#include "telemetry/proc_text.hpp"

namespace plimsoll::probe {
namespace {

/// More processors than any kernel is built for today (8192).
constexpr int kMostCpus = 16384;

std::vector<int> allowed_cpus() {
  std::vector<int> out;
  cpu_set_t* set = CPU_ALLOC(kMostCpus);
  if (set == nullptr) return out;
  const std::size_t size = CPU_ALLOC_SIZE(kMostCpus);
  if (::sched_getaffinity(0, size, set) == 0)
    for (int cpu = 0; cpu < kMostCpus; ++cpu)
      if (CPU_ISSET_S(static_cast<std::size_t>(cpu), size, set)) out.push_back(cpu);
  CPU_FREE(set);
  return out;
}

}  // namespace

Cores cores_here(const std::filesystem::path& root) {
  Cores out{.cpus = allowed_cpus()};
  out.threads = static_cast<int>(out.cpus.empty() ? std::max(1U, std::thread::hardware_concurrency())
                                                  : out.cpus.size());
  if (const auto quota = hardware::read_cpu(root).cpu_quota)
    out.threads = std::clamp(static_cast<int>(std::floor(*quota)), 1, out.threads);
  return out;
}

std::optional<Bytes> available_memory(const std::filesystem::path& root) {
  std::optional<Bytes> out;
  if (const auto text = read_file(root / "proc/meminfo", 1 << 16))
    if (const auto kibibytes = telemetry::number_after(*text, "MemAvailable:"))
      out = Bytes(static_cast<std::int64_t>(*kibibytes)) * 1024;
  const telemetry::Cgroup cgroup(root / "proc", root / "sys");
  telemetry::ReadBuffer buffer;
  const auto used = cgroup.memory(buffer), limit = cgroup.memory_limit();
  if (used && limit) {
    const Bytes left = Bytes::rounded(std::max(0.0, *limit - *used));
    out = out ? std::min(*out, left) : left;
  }
  return out;
}

}  // namespace plimsoll::probe
