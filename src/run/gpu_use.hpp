#pragma once
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "base/units.hpp"
#include "run/session.hpp"
#include "telemetry/frame.hpp"

namespace plimsoll::running {

/// What each run last took of its GPUs, and the most that it held. Told by the sampler's thread, asked by the
/// loop.
class GpuUse {
 public:
  /// `series`: all so far.
  void see(const telemetry::Frame& frame, const std::vector<telemetry::Series>& series);
  /// Adds what is known of the run's GPU; of several, of the one on which it holds most.
  void add_to(Progress& progress, int run) const;
  [[nodiscard]] std::optional<Bytes> peak(int run) const;

 private:
  enum class What { other, memory, sm_activity, gpu_sm_activity, gpu_dram_activity, gpu_watts };
  struct OfRun {
    std::optional<double> memory = {};
    std::optional<double> sm_activity = {};
  };
  struct OfGpu {
    std::optional<double> sm_activity = {};
    std::optional<double> dram_activity = {};
    std::optional<double> watts = {};
  };
  [[nodiscard]] static What what(const telemetry::Series& series);

  mutable std::mutex mutex_;
  std::vector<What> kinds_;  // by series
  std::map<int, std::map<unsigned, OfRun>> runs_;
  std::map<unsigned, OfGpu> gpus_;
  std::map<int, double> peaks_;
};

}  // namespace plimsoll::running
