#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"
#include "estimate/parallel.hpp"
#include "estimate/profile/profile.hpp"

namespace plimsoll::estimate {

/// The terms in which PALEO writes a layer's time (Qi, Sparks, Talwalkar, ICLR 2017): reading inputs,
/// computing, writing results, at the rates that the device really reaches.
struct LayerTime {
  std::uint32_t op = 0;  ///< in the main graph's operators; program::kLossCall, program::kOptimizerCall
  Seconds forward = {}, backward = {};
  Seconds low = {}, high = {};  ///< of both together, 95 %
  Seconds read = {}, compute = {}, write = {};
  double flops = 0, bytes = 0;
  Bottleneck bottleneck = Bottleneck::memory;
  std::int64_t kernels = 0;
};

/// What devices that train together send each other in a step (docs/parallel.md).
struct CommunicationTime {
  Seconds seconds = {};                       ///< of all of it, were nothing else done meanwhile
  Seconds exposed = {}, low = {}, high = {};  ///< what nothing hides: low where all hides that can, high all
  double bytes = 0;                           ///< that each device sends
  Link link = {};                             ///< by which it was reckoned
  bool latency_known = false;
};

/// One pass, or one training step, of one batch.
struct TimeEstimate {
  Seconds seconds, low, high;  ///< the device's own time, as with a captured graph; 95 %
  Seconds eager;  ///< as a framework runs it call by call: where launches are slower, they decide
  std::optional<hardware::DeviceFigure> eager_launch = {};  ///< s of the host per kernel; a GPU's
  Seconds forward, backward, optimizer;                     ///< of all passes of a step
  int passes = 1;                                           ///< forward and backward, of a training step
  Seconds recomputed = {};  ///< of backward: what runs forward once more between checkpoints
  int devices = 1;          ///< that train together; the times are of each
  std::optional<CommunicationTime> communication = {};  ///< where there are several
  /// Samples of one pass of one device, over all passes and devices.
  [[nodiscard]] double samples(std::int64_t batch) const {
    return static_cast<double>(batch) * passes * devices;
  }
  double flops = 0, bytes = 0;
  /// PPP: FLOP/s of the products over the datasheet's peak in the arithmetic that they compute in. Where they
  /// compute in several: their time at those peaks over all of the time.
  std::optional<double> share_of_peak;
  Bottleneck bottleneck = Bottleneck::memory;
  std::optional<Joules> joules, low_joules, high_joules;  ///< 95 %
  std::optional<Seconds> load;                            ///< weights from the host's memory onto the device
  /// Calibrated where measured points tell most of the time; else the datasheet's.
  Provenance provenance = Provenance::datasheet;
  std::vector<LayerTime> layers;  ///< as the network runs them, then sums of gradients, then the step
  /// Of weights that stay as they are stored, whose products are timed by bytes and peaks alone.
  std::vector<std::string> stored_formats;
  std::vector<std::string> notes;
};

/// A profile of the program on the target, folded. Pure.
[[nodiscard]] TimeEstimate estimate_time(const program::Program& program, const Profile& profile,
                                         const Target& target);

/// Profiles the program first, and adds what several devices send each other. Fails where what connects them
/// is not known, and where the device has too few figures to say anything.
[[nodiscard]] Result<TimeEstimate> estimate_time(const program::Program& program,
                                                 const network::Setting& setting, const Target& target);

}  // namespace plimsoll::estimate
