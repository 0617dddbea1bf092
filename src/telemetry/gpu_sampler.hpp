#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "nvml/library.hpp"
#include "telemetry/frame_collector.hpp"
#include "telemetry/sources.hpp"

namespace plimsoll::telemetry {

/// What a slice of a GPU did over an interval.
struct SliceInterval {
  unsigned gpu_instance = 0;
  double size = 0;                         ///< slices; 0: not known
  std::optional<double> sm_activity = {};  ///< mean, share of the slice's own SMs
};

/// What a GPU did over an interval.
struct GpuInterval {
  std::optional<double> energy = {};       ///< J
  std::optional<double> sm_activity = {};  ///< mean, share of one
  std::optional<double> utilization = {};  ///< the largest told
  std::vector<SliceInterval> slices = {};  ///< in MIG mode
};

/// One GPU as a whole, and its MIG slices.
class GpuSampler {
 public:
  GpuSampler(nvml::Library& library, unsigned device);
  void sample(const Moment& moment, FrameCollector& collector);
  void all_due();
  void count_energy() { energy_due_.at_once(); }  ///< a run begins: its energy counts from an exact figure

  [[nodiscard]] unsigned device() const { return device_; }
  /// Since the last call.
  [[nodiscard]] GpuInterval take_interval();

 private:
  class MeanOverTime {
   public:
    void add(double value, double seconds) {
      sum_ += value * seconds;
      seconds_ += seconds;
    }
    /// Nothing where nothing was added since the last call.
    std::optional<double> take() {
      const double seconds = std::exchange(seconds_, 0);
      const double sum = std::exchange(sum_, 0);
      return seconds > 0 ? std::optional(sum / seconds) : std::nullopt;
    }

   private:
    double sum_ = 0, seconds_ = 0;
  };
  using ActivityChannels = std::array<Channel, nvml::kActivityMetrics.size()>;
  struct Slice {
    unsigned gpu_instance;
    std::unique_ptr<nvml::ActivityWindow> window;
    ActivityChannels channels;
    Channel memory;
    double size = 0;
    std::optional<double> read_at = {};  ///< when its counters were last read
    MeanOverTime activity = {};
  };

  void sample_activity(const Moment& moment, FrameCollector& collector);
  void sample_energy(const Moment& moment, FrameCollector& collector);
  void sample_power(const Moment& moment, FrameCollector& collector);
  void sample_clocks(const Moment& moment, FrameCollector& collector);
  void sample_slices(const Moment& moment, FrameCollector& collector);
  void add_energy(double joules);

  nvml::Library* library_;
  unsigned device_;
  std::unique_ptr<nvml::ActivityWindow> window_;
  std::vector<Slice> slices_;
  std::optional<double> activity_at_;                  ///< when the counters were last read
  MeanOverTime activity_;                              ///< over the present interval
  std::optional<double> counter_;                      ///< the energy counter as last read, J
  bool counts_energy_ = true;                          ///< else power alone is summed up
  double summed_ = 0;                                  ///< J, of power, since the counter was read
  double ahead_ = 0;                                   ///< J by which that was more than the counter's
  std::optional<std::pair<double, double>> power_at_;  ///< when, W
  double energy_ = 0;                                  ///< J since sampling began
  std::optional<double> interval_energy_, interval_utilization_;
  ActivityChannels activity_channels_;
  Channel power_instant_, power_average_, energy_counted_, energy_summed_, memory_, utilization_,
      memory_utilization_, sm_clock_, memory_clock_, temperature_, throttle_;
  Due activity_due_{Source::gpu_activity}, costly_due_{Source::gpu_costly_activity},
      power_due_{Source::gpu_power}, energy_due_{Source::gpu_energy}, memory_due_{Source::gpu_memory},
      clocks_due_{Source::gpu_clocks}, throttle_due_{Source::gpu_clocks},
      utilization_due_{Source::gpu_utilization}, temperature_due_{Source::gpu_temperature},
      slices_due_{Source::gpu_slices};
};

}  // namespace plimsoll::telemetry
