#pragma once
#include <array>
#include <cstddef>
#include <limits>
#include <string_view>

namespace plimsoll::telemetry {

enum class Source {
  process_cpu,
  process_tree,
  process_memory,
  process_io,
  host_cpu,
  host_memory,
  host_disk,
  host_network,
  host_pressure,
  cgroup,
  package_energy,
  gpu_activity,
  gpu_costly_activity,
  gpu_power,
  gpu_energy,
  gpu_memory,
  gpu_clocks,
  gpu_utilization,
  gpu_temperature,
  gpu_sharing,
  gpu_slices,
};

/// How often each source is read at most: as often as its value really changes, or as its reading is worth.
struct SourceRow {
  Source source;
  std::string_view name;  ///< as docs/telemetry.md has it
  double period;          ///< seconds
  std::string_view why;
};
inline constexpr std::array kSources = {
    SourceRow{Source::process_cpu, "process_cpu", 0.2,
              "the kernel counts in ticks of 10 ms; a file per process"},
    SourceRow{Source::process_tree, "process_tree", 0.2,
              "where the machine began a process since; else every second"},
    SourceRow{Source::process_memory, "process_memory", 1,
              "resident; the kernel walks the page tables for shared pages, so less often"},
    SourceRow{Source::process_io, "process_io", 1, "written back by the kernel in seconds"},
    SourceRow{Source::host_cpu, "host_cpu", 0.5, "the kernel sums over all processors"},
    SourceRow{Source::host_memory, "host_memory", 0.5, ""},
    SourceRow{Source::host_disk, "host_disk", 1, ""},
    SourceRow{Source::host_network, "host_network", 1, ""},
    SourceRow{Source::host_pressure, "host_pressure", 1, "the kernel averages over 2 s"},
    SourceRow{Source::cgroup, "cgroup", 0.5, ""},
    SourceRow{Source::package_energy, "package_energy", 0.1, ""},
    SourceRow{Source::gpu_activity, "gpu_activity", 1,
              "a driver takes 0.3 ms; it averages over the time since, so nothing is lost"},
    SourceRow{Source::gpu_costly_activity, "gpu_costly_activity", 10,
              "a driver takes 1.5 ms for the graphics activity"},
    SourceRow{Source::gpu_power, "gpu_power", 0.02, "the board measures about 50 times a second"},
    SourceRow{Source::gpu_energy, "gpu_energy", 10,
              "a driver takes 4 ms for its counter; the power is summed up in between"},
    SourceRow{Source::gpu_memory, "gpu_memory", 0.5, ""},
    SourceRow{Source::gpu_clocks, "gpu_clocks", 1, ""},
    SourceRow{Source::gpu_utilization, "gpu_utilization", 1, "the driver averages over 1/6 s to 1 s"},
    SourceRow{Source::gpu_temperature, "gpu_temperature", 1, ""},
    SourceRow{
        Source::gpu_sharing, "gpu_sharing", 2,
        "a driver takes 2 ms; it samples processes over 1/6 s to 1 s and keeps the samples until asked"},
    SourceRow{Source::gpu_slices, "gpu_slices", 10, "MIG slices change only by hand"},
};

[[nodiscard]] constexpr double period_of(Source source) {
  return kSources[static_cast<std::size_t>(source)].period;
}

/// When a source is to be read next.
class Due {
 public:
  explicit Due(Source source) : period_(period_of(source)) {}

  /// Whether it is due now, `slack` seconds early at most; if so, the next time is a period later.
  [[nodiscard]] bool now(double elapsed, double slack) {
    if (elapsed + slack < next_) return false;
    next_ = next_ + period_ > elapsed ? next_ + period_ : elapsed + period_;
    return true;
  }
  void at_once() { next_ = -std::numeric_limits<double>::infinity(); }
  /// A source that did not answer is asked again, but not at every turn.
  void later(double elapsed, double seconds) { next_ = elapsed + seconds; }

 private:
  double period_;
  double next_ = -std::numeric_limits<double>::infinity();
};

/// The moment of one sample, as every source sees it.
struct Moment {
  double elapsed = 0;  ///< seconds on a clock that never jumps
  double slack = 0;    ///< half a frame
  [[nodiscard]] bool reads(Due& due) const { return due.now(elapsed, slack); }
};
inline constexpr double kRetry = 10;  ///< seconds until a source that refused is asked again

}  // namespace plimsoll::telemetry
