#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"
#include "hardware/calibration.hpp"
#include "nvml/library.hpp"
#include "probe/gpu_run.hpp"

namespace plimsoll::probe {

/// Power out of a counter of joules that stands still between its updates (NVML's: 0.1 s). Read often, it
/// tells when it changes; from the first change to the last the time is known as well as the energy, whatever
/// the begin and the end of the window fall on.
class TickedPower {
 public:
  /// What the counter says at a time of a steady clock, in seconds; times ascend.
  void read(double time, Joules counter);
  struct Power {
    Watts mean;
    double seconds = 0;      ///< between the changes
    double uncertainty = 0;  ///< as a share: each change was seen a reading late at most
  };
  /// Nothing before ten updates were seen, or where the counter went back.
  [[nodiscard]] std::optional<Power> power() const;

 private:
  struct Reading {
    double time = 0;
    Joules counter;
  };
  std::optional<Reading> previous_, first_, last_;
  double longest_gap_ = 0;  // between two readings
  int changes_ = 0;
  bool went_back_ = false;
};

/// What one load took.
struct LoadPower {
  cuda::Load load = cuda::Load::idle;
  Watts power;
  double seconds = 0;      ///< of the counter
  double uncertainty = 0;  ///< as a share
  /// Of all the power, what the GPU takes when idle included.
  std::optional<double> joules_per_flop = {};
  std::optional<double> joules_per_byte = {};
};
struct PowerFindings {
  std::vector<LoadPower> loads;  ///< none where there is no counter
  std::vector<std::string> remarks;
  bool interrupted = false;
};

struct PowerStudy {
  int device = 0;
  double seconds = 5;  ///< of each load, after it has settled
  std::vector<cuda::Load> loads = {cuda::Load::idle, cuda::Load::memory_triad, cuda::Load::product_fp32,
                                   cuda::Load::product_bf16};
};

/// Puts each load on the GPU in turn and reads the driver's energy counter meanwhile. Where there is no
/// counter, nothing is run and a remark says so. Fails as run_cuda does, at the first load.
[[nodiscard]] Result<PowerFindings> study_power(const std::filesystem::path& program,
                                                const nvml::Library& library, const PowerStudy& study,
                                                const CudaLimits& limits, const CudaListener& listener);

/// "idle-power" (a context is open and nothing runs) and "load-power" (of the load that takes most) in W,
/// "energy-product-bf16" and its like in J/FLOP, "energy-memory-triad" in J/B.
[[nodiscard]] std::vector<hardware::Ceiling> power_ceilings(const PowerFindings& findings,
                                                            const std::string& date);

}  // namespace plimsoll::probe
