#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"
#include "estimate/memory/lowering.hpp"
#include "hardware/calibration.hpp"
#include "hardware/device.hpp"
#include "network/inference.hpp"
#include "network/setting.hpp"

namespace plimsoll::hardware {
class OperatorCurves;
}

namespace plimsoll::estimate {

enum class Bottleneck : std::uint8_t { compute, memory, launch };
[[nodiscard]] std::string_view name(Bottleneck bottleneck);

/// The terms in which PALEO writes a layer's time (Qi, Sparks, Talwalkar, ICLR 2017): reading inputs,
/// computing, writing results, at the rates that the device really reaches.
struct LayerTime {
  std::uint32_t op = 0;  ///< in the main graph's operators; kLossCall, kOptimizerCall
  Seconds forward = {}, backward = {};
  Seconds low = {}, high = {};  ///< of both together, 95 %
  Seconds read = {}, compute = {}, write = {};
  double flops = 0, bytes = 0;
  Bottleneck bottleneck = Bottleneck::memory;
  std::int64_t kernels = 0;
};
inline constexpr std::uint32_t kOptimizerCall = 0xfffffffe;

struct TimeSetting {
  LoweringOptions lowering = {};                           ///< `gpu` follows from the device
  network::Optimizer optimizer = network::Optimizer::sgd;  ///< training
};

/// One pass, or one training step, of one batch.
struct TimeEstimate {
  Seconds seconds, low, high;  ///< the device's own time, as with a captured graph; 95 %
  Seconds eager;  ///< as a framework runs it call by call: where launches are slower, they decide
  std::optional<hardware::Figure> eager_launch = {};  ///< s of the host per kernel; a GPU's
  Seconds forward, backward, optimizer;
  double flops = 0, bytes = 0;
  /// PPP: FLOP/s of the products over the datasheet's peak in the arithmetic that they compute in. Where they
  /// compute in several: their time at those peaks over all of the time.
  std::optional<double> share_of_peak;
  Bottleneck bottleneck = Bottleneck::memory;
  std::optional<Joules> joules;
  std::optional<Seconds> load;  ///< weights from the host's memory onto the device
  hardware::Provenance provenance = hardware::Provenance::datasheet;  ///< calibrated, or datasheet
  std::vector<LayerTime> layers;
  std::vector<std::string> notes;
};

/// Pure. With the curves of a calibration, or (null) by the datasheet and the efficiencies that classes of
/// kernels usually reach. Fails where the device has too few figures to say anything.
[[nodiscard]] Result<TimeEstimate> estimate_time(const Program& program, const TimeSetting& setting,
                                                 const hardware::Device& device,
                                                 const hardware::OperatorCurves* curves = nullptr);

/// Lowers the network for the kind of device, and times that.
[[nodiscard]] Result<TimeEstimate> estimate_time(const network::Network& network,
                                                 const network::Shapes& shapes, const TimeSetting& setting,
                                                 const hardware::Device& device,
                                                 const hardware::OperatorCurves* curves = nullptr);

}  // namespace plimsoll::estimate
