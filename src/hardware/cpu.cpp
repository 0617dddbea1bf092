#include "hardware/cpu.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/text.hpp"

namespace plimsoll::hardware {
namespace {

/// Processors known to retire two 512-bit multiply-adds per cycle in each core. Others with AVX-512 may have
/// one unit (some Skylake and Cascade Lake Xeons, client parts) or split the instruction (Zen 4).
/// After the vendors' descriptions of these cores; none was measured here.
struct WideCore {
  std::string_view vendor;
  int family;
  int model;
  std::string_view name;
};
constexpr WideCore kTwoWideUnits[] = {
    {"GenuineIntel", 6, 106, "Ice Lake server"}, {"GenuineIntel", 6, 143, "Sapphire Rapids"},
    {"GenuineIntel", 6, 173, "Granite Rapids"},  {"GenuineIntel", 6, 207, "Emerald Rapids"},
    {"AuthenticAMD", 26, 2, "Zen 5 server"},
};

DeviceFigure seen(double value, std::string source) {
  return {value, Provenance::measured, std::move(source)};
}

/// Sums over the cores and says how; nullopt as soon as one core's rate is unknown.
std::optional<DeviceFigure> derived_peak(const Cpu& cpu) {
  if (cpu.cores.empty()) return std::nullopt;
  std::map<CpuCore, int, std::greater<>> alike;
  for (const CpuCore& core : cpu.cores) ++alike[core];
  DeviceFigure peak{.provenance = Provenance::assumed};
  for (const auto& [core, count] : alike) {
    const auto rate = flops_per_cycle(cpu, core);
    if (!rate || !core.hertz) return std::nullopt;
    peak.value += count * *core.hertz * rate->flops;
    peak.source +=
        fmt::format("{}{} {} x {} x {} FLOP per cycle ({})", peak.source.empty() ? "" : " + ", count,
                    count == 1 ? "core" : "cores", si_text(*core.hertz, "Hz"), rate->flops, rate->reason);
  }
  peak.source += fmt::format("; frequency: {}", cpu.frequency_source);
  if (const auto cores = static_cast<double>(cpu.cores.size()); cpu.cpu_quota && *cpu.cpu_quota < cores) {
    peak.value *= *cpu.cpu_quota / cores;
    peak.source += fmt::format("; the cgroup allows {:.3g} of {} cores", *cpu.cpu_quota, cpu.cores.size());
  }
  return peak;
}

}  // namespace

std::optional<CycleRate> flops_per_cycle(const Cpu& cpu, const CpuCore& core) {
  // Intel's small cores split 256-bit instructions over two 128-bit units.
  if (core.efficiency) return CycleRate{16, "efficiency core, 128-bit FMA units assumed"};
  switch (cpu.simd) {
    case Simd::unknown: return std::nullopt;
    case Simd::sse2: return CycleRate{8, "SSE2, one addition and one multiplication"};
    case Simd::avx: return CycleRate{16, "AVX, one addition and one multiplication"};
    case Simd::avx2_fma: return CycleRate{32, "AVX2, two FMA units assumed"};
    case Simd::avx512: break;
  }
  for (const WideCore& wide : kTwoWideUnits)
    if (wide.vendor == cpu.vendor && wide.family == cpu.family && wide.model == cpu.model_number)
      return CycleRate{64, fmt::format("AVX-512, two FMA units: {}", wide.name)};
  return CycleRate{32, "AVX-512, one 512-bit FMA unit assumed: their number is not known for this model"};
}

Device describe(const Cpu& cpu) {
  Device device;
  device.id = "cpu";
  device.name = cpu.model.empty() ? "CPU" : cpu.model;
  device.vendor = cpu.vendor;
  device.kind = DeviceKind::cpu;
  if (cpu.memory) device.memory = seen(static_cast<double>(cpu.memory->count()), "/proc/meminfo");
  if (cpu.memory_limit && (!cpu.memory || *cpu.memory_limit < *cpu.memory))
    device.usable_memory = seen(static_cast<double>(cpu.memory_limit->count()), "the cgroup's memory limit");
  if (!cpu.cores.empty())
    device.multiprocessors =
        seen(static_cast<double>(cpu.cores.size()), "physical cores, /proc/cpuinfo and /sys");
  device.peak[static_cast<std::size_t>(Arithmetic::fp32)] = derived_peak(cpu);
  if (auto half = derived_peak(cpu)) {
    half->value /= 2;
    half->source = "half of fp32: " + half->source;
    device.peak[static_cast<std::size_t>(Arithmetic::fp64)] = std::move(half);
  } else {
    device.notes.emplace_back(
        "No peak rate: it does not follow from what the kernel tells about this processor.");
  }
  return device;
}

}  // namespace plimsoll::hardware
