#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"
#include "estimate/profile/bottleneck.hpp"
#include "estimate/target.hpp"
#include "hardware/calibration.hpp"
#include "network/setting.hpp"
#include "program/launches.hpp"

namespace plimsoll::estimate {

/// A kernel of the Program on a device.
struct ProfiledKernel {
  program::Launch launch;
  hardware::OperatorWork work;
  Seconds seconds;
  Seconds change = {};   ///< of these, what passes before it computes, since another kernel ran before it
  double log_error = 0;  ///< standard deviation of log(true / predicted)
  Provenance provenance = Provenance::datasheet;
  Bottleneck bottleneck = Bottleneck::memory;
  Seconds begin = {};        ///< captured: kernels follow each other; of passes alike in the first
  Seconds eager_begin = {};  ///< launched by the host one by one
  /// In all passes of the step that run it.
  [[nodiscard]] Seconds all() const { return seconds * static_cast<double>(launch.passes); }
  [[nodiscard]] Seconds low() const;  ///< 95 %, of its own error alone
  [[nodiscard]] Seconds high() const;
};

/// A Program on a device: its kernels in the order in which they run, each with its time and where that comes
/// from. What memory, time and energy of a run are folded from, and what shares of a GPU are made of.
struct Profile {
  std::vector<ProfiledKernel> kernels;
  Seconds seconds;  ///< the device's own time, as with a captured graph
  Seconds eager;    ///< as a framework runs it call by call: where launches are slower, they decide
  std::optional<hardware::DeviceFigure> eager_launch = {};  ///< s of the host per kernel; a GPU's
  bool calibrated = false;                                  ///< the device has curves
  int passes = 1;                                           ///< of a training step
};

/// Pure. With the curves of a calibration, or by the datasheet and the efficiencies that classes of kernels
/// usually reach. Fails where the device has too few figures to say anything.
[[nodiscard]] Result<Profile> profile(const program::Program& program, const network::Setting& setting,
                                      const Target& target);

}  // namespace plimsoll::estimate
