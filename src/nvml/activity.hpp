#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/error.hpp"

namespace plimsoll::nvml {

/// What GPM counts (GPU performance monitoring, Hopper and later), by NVML's number, with what turns its
/// percent and MiB/s into shares of one and B/s.
struct ActivityMetric {
  unsigned id;
  std::string_view name;
  std::string_view unit;
  double scale;
  bool costly = false;  ///< a driver takes more than a millisecond to tell it
};
inline constexpr std::array kActivityMetrics = {
    ActivityMetric{2, "sm_activity", "1", 0.01},  // SMs with at least one warp, over all and the time
    ActivityMetric{1, "graphics_activity", "1", 0.01, true},  // time in which anything ran
    ActivityMetric{3, "sm_occupancy", "1", 0.01},             // warps resident, over the most possible
    ActivityMetric{5, "tensor_activity", "1", 0.01},          // any tensor core instruction
    ActivityMetric{11, "fp64_activity", "1", 0.01},           // outside the tensor cores, as the next two
    ActivityMetric{12, "fp32_activity", "1", 0.01},           //
    ActivityMetric{13, "fp16_activity", "1", 0.01},           //
    ActivityMetric{10, "dram_activity", "1", 0.01},           // of the memory's peak bandwidth
    ActivityMetric{20, "pcie_sent", "B/s", 0x1p20},           // by the GPU
    ActivityMetric{21, "pcie_received", "B/s", 0x1p20},       //
    ActivityMetric{61, "nvlink_sent", "B/s", 0x1p20},         //
    ActivityMetric{60, "nvlink_received", "B/s", 0x1p20}      //
};
inline constexpr std::size_t kSmActivity = 0;

/// In the order of kActivityMetrics, scaled; absent where the GPU does not count it.
using Activity = std::array<std::optional<double>, kActivityMetrics.size()>;

/// The counters between one moment and the next. Windows shorter than 100 ms say little.
class ActivityWindow {
 public:
  virtual ~ActivityWindow() = default;
  /// What was done since the last call, or since the window was made. `costly`: also what the driver takes
  /// longer than a millisecond to tell, since that was last asked; absent otherwise.
  [[nodiscard]] virtual Result<Activity> advance(bool costly = true) = 0;

 protected:
  ActivityWindow() = default;
  ActivityWindow(const ActivityWindow&) = default;
  ActivityWindow& operator=(const ActivityWindow&) = default;
};

/// Why the clocks are lower than they could be: bits of what throttle() answers.
struct Throttle {
  std::uint64_t bit;
  std::string_view name;
  bool slows;  ///< rather than that nothing has to be fast
};
inline constexpr std::array kThrottles = {
    Throttle{0x1, "idle", false},
    Throttle{0x2, "clocks set by the user", false},
    Throttle{0x4, "power limit", true},
    Throttle{0x8, "hardware slowdown", true},
    Throttle{0x10, "sync boost", true},
    Throttle{0x20, "too hot (software)", true},
    Throttle{0x40, "too hot (hardware)", true},
    Throttle{0x80, "power brake", true},
    Throttle{0x100, "display clocks", false},
};

}  // namespace plimsoll::nvml
