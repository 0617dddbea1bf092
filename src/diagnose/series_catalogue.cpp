#include "diagnose/series_catalogue.hpp"

#include <array>
#include <cmath>

#include <fmt/format.h>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "diagnose/recording.hpp"
#include "store/host_series.hpp"

namespace plimsoll::diagnose {
namespace {

constexpr std::array<std::string_view, 12> kShownNames = {
    "share",   "bytes", "bytes_per_second", "watts", "joules", "hertz",
    "celsius", "cores", "seconds",          "count", "flags",  "plain"};
constexpr std::array<std::string_view, 6> kGroupNames = {"metric", "activity",  "memory",
                                                         "power",  "processor", "transfer"};
constexpr std::array<std::string_view, 6> kGroupTitles = {
    "The command's metrics", "GPU activity", "Memory", "Power and clocks", "Processor", "Input and output"};

using enum SeriesKind;
using enum SeriesGroup;
constexpr std::string_view kSm = "SM activity and utilization";
constexpr std::string_view kPrecisions = "Arithmetic pipes";
constexpr std::string_view kGpuMemory = "GPU memory";
constexpr std::string_view kHostMemory = "Host memory";
constexpr std::string_view kGpuEnergy = "GPU energy since the start";
constexpr std::string_view kClocks = "GPU clocks";
constexpr std::string_view kCores = "Processor cores busy";
constexpr std::string_view kPressure = "Pressure: share of time in which something waited";
constexpr std::string_view kStorage = "Storage";

/// In the order in which charts and rows are shown.
constexpr KnownSeries kKnown[] = {
    {"system/gpu/*/sm_activity", "SM activity", Shown::share, gauge, activity, kSm},
    {"system/gpu/*/utilization", "utilization", Shown::share, gauge, activity, kSm, true},
    {"system/gpu/*/graphics_activity", "any kernel running", Shown::share, gauge, activity,
     "Any kernel running"},
    {"system/gpu/*/sm_occupancy", "SM occupancy", Shown::share, gauge, activity, "SM occupancy"},
    {"system/gpu/*/tensor_activity", "tensor cores", Shown::share, gauge, activity, "Tensor cores"},
    {"system/gpu/*/fp32_activity", "FP32 pipe", Shown::share, gauge, activity, kPrecisions},
    {"system/gpu/*/fp16_activity", "FP16 pipe", Shown::share, gauge, activity, kPrecisions, true},
    {"system/gpu/*/fp64_activity", "FP64 pipe", Shown::share, gauge, activity, kPrecisions, true},
    {"system/gpu/*/dram_activity", "GPU memory bandwidth", Shown::share, gauge, activity,
     "GPU memory bandwidth"},
    {"system/gpu/*/memory_utilization", "memory utilization", Shown::share, gauge, activity,
     "GPU memory bandwidth", true},
    {"system/run/gpu/*/sm_share", "this run's share of the GPU", Shown::share, gauge, activity,
     "This run's part of the GPU"},
    {"system/run/gpu/*/sm_activity", "this run's SM activity", Shown::share, gauge, activity,
     "This run's part of the GPU", true},
    {"system/run/gpu/*/memory", "GPU memory of the run", Shown::bytes, gauge, memory, kGpuMemory},
    {"system/gpu/*/memory_used", "GPU memory in use", Shown::bytes, gauge, memory, kGpuMemory, true},
    {"system/run/memory", "host memory of the run", Shown::bytes, gauge, memory, kHostMemory},
    {"system/run/memory_resident", "resident, shared pages repeated", Shown::bytes, gauge, memory,
     kHostMemory, true},
    {"system/host/memory_used", "host memory in use", Shown::bytes, gauge, memory, kHostMemory, true},
    {"system/host/swap_used", "swap in use", Shown::bytes, gauge, memory, "Swap"},
    {"system/host/cgroup_memory", "memory of the cgroup", Shown::bytes, gauge, memory,
     "Memory of the cgroup"},
    {"system/host/cgroup_memory_limit", "the cgroup's limit", Shown::bytes, gauge, memory,
     "Memory of the cgroup", true},
    {"system/gpu/*/power", "GPU power", Shown::watts, gauge, power, "GPU power"},
    {"system/run/gpu/*/energy", "energy of the run", Shown::joules, counter, power, kGpuEnergy},
    {"system/gpu/*/energy", "energy of the GPU", Shown::joules, counter, power, kGpuEnergy, true},
    {"system/host/package/*/energy", "energy of the processor", Shown::joules, counter, power,
     "Processor energy since the start"},
    {"system/gpu/*/sm_clock", "SM clock", Shown::hertz, gauge, power, kClocks},
    {"system/gpu/*/memory_clock", "memory clock", Shown::hertz, gauge, power, kClocks, true},
    {"system/gpu/*/temperature", "GPU temperature", Shown::celsius, gauge, power, "GPU temperature"},
    {"system/gpu/*/throttle", "held down by power or heat", Shown::flags, flags, power,
     "Clocks held down by power or heat", false, false},
    {"system/run/cpu", "cores of the run", Shown::cores, gauge, processor, kCores},
    {"system/host/cpu", "cores of the machine", Shown::cores, gauge, processor, kCores, true},
    {"system/host/cgroup_cpu", "cores of the cgroup", Shown::cores, gauge, processor, "Cores of the cgroup"},
    {"system/host/cgroup_throttled", "held back by the cgroup", Shown::cores, gauge, processor,
     "Cores of the cgroup", true},
    {"system/host/cpu_pressure", "waiting for a core", Shown::share, gauge, processor, kPressure},
    {"system/host/io_pressure", "waiting for storage", Shown::share, gauge, processor, kPressure},
    {"system/host/memory_pressure", "waiting for memory", Shown::share, gauge, processor, kPressure, true},
    {"system/run/processes", "processes of the run", Shown::count, gauge, processor, "Processes and threads"},
    {"system/run/threads", "threads of the run", Shown::count, gauge, processor, "Processes and threads",
     true},
    {"system/run/read", "read by the run", Shown::bytes_per_second, gauge, transfer,
     "Read and written by the run"},
    {"system/run/written", "written by the run", Shown::bytes_per_second, gauge, transfer,
     "Read and written by the run", true},
    {"system/host/disk_read", "read from storage", Shown::bytes_per_second, gauge, transfer, kStorage},
    {"system/host/disk_written", "written to storage", Shown::bytes_per_second, gauge, transfer, kStorage,
     true},
    {"system/gpu/*/pcie_received", "PCIe to the GPU", Shown::bytes_per_second, gauge, transfer, "PCIe"},
    {"system/gpu/*/pcie_sent", "PCIe from the GPU", Shown::bytes_per_second, gauge, transfer, "PCIe", true},
    {"system/gpu/*/nvlink_received", "NVLink to the GPU", Shown::bytes_per_second, gauge, transfer, "NVLink"},
    {"system/gpu/*/nvlink_sent", "NVLink from the GPU", Shown::bytes_per_second, gauge, transfer, "NVLink",
     true},
    {"system/host/network_received", "network in", Shown::bytes_per_second, gauge, transfer, "Network"},
    {"system/host/network_sent", "network out", Shown::bytes_per_second, gauge, transfer, "Network", true},
};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Whether the name is the pattern with its "*" a number.
bool fits(std::string_view pattern, std::string_view metric) {
  while (!pattern.empty()) {
    if (pattern.front() == '*') {
      if (metric.empty() || !is_digit(metric.front())) return false;
      while (!metric.empty() && is_digit(metric.front())) metric.remove_prefix(1);
    } else {
      if (metric.empty() || metric.front() != pattern.front()) return false;
      metric.remove_prefix(1);
    }
    pattern.remove_prefix(1);
  }
  return metric.empty();
}

}  // namespace

std::string_view name(Shown shown) {
  return kShownNames[static_cast<std::size_t>(shown)];
}

std::string share_text(double share) {
  const double percent = 100 * share;
  if (percent == 0) return "0 %";
  return fmt::format("{:.{}f} %", percent, std::abs(percent) < 9.95 ? 1 : 0);
}

std::string value_text(double value, Shown shown, std::string_view unit) {
  switch (shown) {
    case Shown::share: return share_text(value);
    case Shown::bytes: return text(Bytes::rounded(value));
    case Shown::bytes_per_second: return text(BytesPerSecond(value));
    case Shown::watts: return text(Watts(value));
    case Shown::joules: return text(Joules(value));
    case Shown::hertz: return si_text(value, "Hz");
    case Shown::celsius: return fmt::format("{:.0f} °C", value);
    case Shown::cores: return fmt::format("{:.{}f} cores", value, std::abs(value) < 9.95 ? 2 : 1);
    case Shown::seconds: return text(Seconds(value));
    case Shown::count: return fmt::format("{:.3g}", value);
    case Shown::flags:
      return fmt::format("0x{:x}", value >= 0 && value < 0x1p53 ? static_cast<std::uint64_t>(value) : 0);
    case Shown::plain: break;
  }
  return unit.empty() || unit == "1" ? fmt::format("{:.5g}", value)
                                     : fmt::format("{:.5g} {}", value, printable(unit, 20));
}

std::string_view name(SeriesGroup group) {
  return kGroupNames[static_cast<std::size_t>(group)];
}

std::string_view title(SeriesGroup group) {
  return kGroupTitles[static_cast<std::size_t>(group)];
}

std::span<const KnownSeries> known_series() {
  return kKnown;
}

const KnownSeries* find_series(std::string_view metric) {
  const store::HostSeries series = store::read_host_series(metric);
  for (const KnownSeries& known : kKnown)
    if (fits(known.pattern, series.name)) return &known;
  return nullptr;
}

bool is_of_machine(std::string_view metric) {
  const std::string there = store::read_host_series(metric).name;
  return there.starts_with("system/gpu/") || there.starts_with("system/host/");
}

std::optional<unsigned> series_number(std::string_view metric) {
  // A host may be called "7".
  const std::string there = store::read_host_series(metric).name;
  metric = there;
  for (std::size_t slash = metric.find('/'); slash != std::string_view::npos;
       slash = metric.find('/', slash + 1)) {
    std::string_view rest = metric.substr(slash + 1);
    unsigned number = 0;
    std::size_t digits = 0;
    while (digits < rest.size() && digits < 6 && is_digit(rest[digits]))
      number = 10 * number + static_cast<unsigned>(rest[digits++] - '0');
    if (digits > 0 && (digits == rest.size() || rest[digits] == '/')) return number;
  }
  return std::nullopt;
}

std::string place_text(std::string_view metric, bool several_gpus) {
  const auto [host, name] = store::read_host_series(metric);
  const std::optional<unsigned> number = series_number(name);
  const bool of_gpu = number && name.contains("gpu/");
  if (of_gpu && (several_gpus || !host.empty())) return ", " + gpu_text({host, *number});
  return host.empty() ? "" : fmt::format(" of {}", printable(host, kLongestLabel));
}

}  // namespace plimsoll::diagnose
