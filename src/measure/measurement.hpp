#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/statistics.hpp"
#include "base/units.hpp"
#include "job/answer.hpp"
#include "job/job.hpp"

namespace plimsoll::measure {

/// A program that has memory on the GPU beside the engine.
struct OtherProcess {
  std::uint32_t pid = 0;
  std::string name = {};                ///< empty where it is not ours to know (another container's)
  std::optional<Bytes> bytes = {};      ///< absent where the driver does not tell
  std::optional<double> activity = {};  ///< mean share of the SMs' time while measuring; absent: not told
  friend bool operator==(const OtherProcess&, const OtherProcess&) = default;
};

/// A GPU at one moment, as far as its driver tells.
struct GpuState {
  std::optional<double> sm_clock = {}, memory_clock = {};  ///< Hz
  std::optional<double> temperature = {};                  ///< °C
  std::optional<Watts> power = {};
  std::optional<std::uint64_t> throttle = {};  ///< bits: nvml::kThrottles
  friend bool operator==(const GpuState&, const GpuState&) = default;
};

struct Extent {
  double low = 0, high = 0;
  friend bool operator==(const Extent&, const Extent&) = default;
};

struct GpuConditions {
  unsigned index = 0;  ///< NVML's
  std::string name = {};
  GpuState before = {}, after = {};
  /// While steady passes ran; absent where none of them was caught.
  std::optional<Extent> sm_clock = {}, memory_clock = {}, temperature = {}, power = {};
  std::uint64_t throttle = 0;  ///< every bit that was seen then
  std::vector<OtherProcess> others = {};
  bool sliced = false;  ///< MIG
  friend bool operator==(const GpuConditions&, const GpuConditions&) = default;
};

struct HostConditions {
  int cores = 0;
  std::optional<double> load_average = {};  ///< of the minute before
  std::optional<double> frequency = {};     ///< Hz, mean over the cores, at the end
  std::optional<double> other_cores = {};   ///< cores that other programs kept busy meanwhile
  friend bool operator==(const HostConditions&, const HostConditions&) = default;
};

struct Conditions {
  HostConditions host = {};
  std::optional<GpuConditions> gpu = {};
  friend bool operator==(const Conditions&, const Conditions&) = default;
};

/// Energy of a window of steady passes.
struct Energy {
  Joules per_pass;
  Joules window;
  double seconds = 0;
  std::int64_t passes = 0;
  double uncertainty = 0;  ///< of the window, as a share: the counter may be a period late at either end
  std::string source;      ///< "NVML", "RAPL"
  friend bool operator==(const Energy&, const Energy&) = default;
};

/// What plimsoll estimate says of the same.
struct RowEstimate {
  Bytes peak_allocated, low, high, peak_reserved;
  std::optional<Bytes> device_used = {};
  friend bool operator==(const RowEstimate&, const RowEstimate&) = default;
};

/// One setting measured in a fresh process. Either `does_not_fit`, `failure`, or figures.
struct Row {
  std::int64_t batch = 0;
  std::optional<Error> failure = {};
  std::optional<job::DoesNotFit> does_not_fit = {};
  std::optional<job::Hello> hello = {};
  std::optional<job::Prepared> prepared = {};
  std::optional<job::Context> context = {};
  std::optional<job::Loaded> loaded = {};
  std::optional<job::Measured> measured = {};
  std::optional<job::Latencies> latencies = {};
  std::optional<job::Layers> layers = {};
  std::optional<Quantile> seconds = {};  ///< the median of one hot pass
  std::optional<Energy> energy = {};
  std::optional<RowEstimate> estimate = {};
  Conditions conditions = {};
  std::vector<std::string> doubts = {};  ///< why the figures may not be what they seem
  std::vector<std::string> notes = {};
};

/// A camera image that is cut into patches.
struct Scene {
  std::int64_t width = 0, height = 0, patch_width = 0, patch_height = 0;
  /// Whole ones; what is left at the edges is left out.
  [[nodiscard]] std::int64_t patches() const { return (width / patch_width) * (height / patch_height); }
  friend bool operator==(const Scene&, const Scene&) = default;
};

/// One model on one device.
struct Measurement {
  std::string model;
  std::string device;  ///< "cpu", "cuda:0"
  network::Setting setting = {};
  job::Execution execution = {};
  job::Protocol protocol = {};
  std::string weights = {};  ///< where they come from
  std::optional<Scene> scene = {};
  std::vector<Row> rows = {};
  std::vector<std::string> notes = {};
};

/// Time and memory to load, the median over the rows.
struct Load {
  double seconds = 0;
  Bytes bytes;
};
[[nodiscard]] std::optional<Load> load_of(const Measurement& measurement);

/// A percentile of the latencies with its interval; nothing where there are too few queries to bound it.
struct Percentile {
  double percent = 0;
  std::optional<Quantile> seconds = {};
};
[[nodiscard]] std::vector<Percentile> percentiles(const std::vector<double>& latencies, double confidence);

/// The scene's time: the median over those that were run, with its interval where there were enough.
[[nodiscard]] std::optional<Quantile> scene_seconds(const Row& row, double confidence);

}  // namespace plimsoll::measure
