#pragma once
#include <optional>
#include <string>
#include <vector>

#include "diagnose/recording.hpp"

namespace plimsoll::diagnose {

/// Time in which a GPU did next to nothing, and what it took meanwhile.
struct Idle {
  double seconds = 0;
  std::optional<double> joules = {};  ///< nothing where no energy is known for some of the time
};

/// What one GPU did while the run had it. Absent is unknown. Shares are of one.
struct GpuFigures {
  Gpu gpu = {};
  std::string name = {};
  std::optional<double> memory_bytes = {};

  /// Which series said when it was busy: SM activity, else kernels, else utilization; empty where none did.
  std::string busy_by = {};
  double known_seconds = 0;       ///< for which that series has samples
  std::optional<Span> work = {};  ///< from the first to the last moment that was not near-idle
  Idle before, between, after;    ///< near-idle: before the work, within it, after it

  /// Over the whole span.
  std::optional<double> mean_sm_activity, mean_utilization;
  std::optional<double> watts, joules;
  std::optional<double> run_joules;   ///< the run's part
  std::optional<double> memory_peak;  ///< bytes, of everybody
  std::optional<double> run_memory_peak;

  /// From the first to the last work.
  std::optional<double> sm_activity, kernel_activity, tensor, fp32, fp16, fp64, dram;
  std::optional<double> sm_share;                    ///< the run's part of what was done
  std::optional<double> power_capped, too_hot;       ///< shares of time with the clocks held down
  std::optional<double> sm_clock, highest_sm_clock;  ///< hertz
};

/// What the run's processes and their machine did.
struct HostFigures {
  std::optional<double> cores;              ///< that the run may use
  std::optional<double> cpu;                ///< cores busy, mean
  std::optional<double> cpu_while_waiting;  ///< while a GPU of the run had no kernel for half of the time
  std::optional<double> cpu_while_working;  ///< while kernels ran
  std::optional<double> machine_cpu;        ///< cores busy with anything, while it waited
  std::optional<double> io_pressure, cpu_pressure, memory_pressure;  ///< shares of time
  std::optional<double> held_back;         ///< cores that the cgroup's limit kept from running
  std::optional<double> memory_peak;       ///< bytes, of the run
  std::optional<double> memory_limit_use;  ///< the highest share of the cgroup's limit
  std::optional<double> swap_peak;
  std::optional<double> joules;  ///< of the processor packages
  std::optional<double> read;    ///< bytes a second, of the run
};

struct RunFigures {
  Span span;
  std::vector<GpuFigures> gpus;
  HostFigures host;
};

[[nodiscard]] RunFigures figures_of(const Recording& recording, Span span);

}  // namespace plimsoll::diagnose
