#include "estimate/time/time.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "estimate/profile/roofline.hpp"
#include "estimate/time/communication.hpp"
#include "estimate/time/energy.hpp"
#include "hardware/ceilings.hpp"
#include "hardware/operator_place.hpp"

namespace plimsoll::estimate {
namespace {

using hardware::OperatorCase;
using program::Phase;
using program::Program;

// What all kernels of a network have in common, beside each one's own error. Calibrations time a kernel by
// itself; in a network it finds the caches as others left them, and short ones feel that most (docs/time.md).
constexpr double kCommonError = 0.06, kShortKernelError = 0.13;
constexpr double kShortKernel = 20e-6;         // s
constexpr double kCommonRooflineError = 0.25;  // the datasheet's
constexpr double kTensorOverhead = 1e-5;       // s per tensor that is loaded

/// What is summed over kernels, of a layer or of all.
struct Sum {
  double seconds = 0, variance = 0;
  double in_short = 0;      ///< s in short kernels
  double by_datasheet = 0;  ///< s that no measured point tells
  std::array<double, kBottlenecks> by_bottleneck{};

  void add(const ProfiledKernel& kernel) {
    const double s = kernel.all().value();
    seconds += s;
    variance += std::pow(s * kernel.log_error, 2);
    if (kernel.seconds.value() < kShortKernel) in_short += s;
    if (kernel.provenance != Provenance::calibrated) by_datasheet += s;
    by_bottleneck[static_cast<std::size_t>(kernel.bottleneck)] += s;
  }
  [[nodiscard]] Bottleneck bottleneck() const {
    return static_cast<Bottleneck>(std::ranges::max_element(by_bottleneck) - by_bottleneck.begin());
  }
  void set_interval(bool calibrated, Seconds& low, Seconds& high) const {
    if (seconds <= 0) return;
    const double common = calibrated ? std::hypot(kCommonError, kShortKernelError * in_short / seconds,
                                                  kCommonRooflineError * by_datasheet / seconds)
                                     : kCommonRooflineError;
    const double deviation = std::hypot(std::sqrt(variance) / seconds, common);
    low = Seconds(seconds * std::exp(-kNormal95 * deviation));
    high = Seconds(seconds * std::exp(kNormal95 * deviation));
  }
};

/// Layers in the order of the forward pass; those of the framework last.
class Layers {
 public:
  struct Entry {
    LayerTime time;
    Sum sum = {};
  };
  Entry& of(const program::Launch& launch) {
    if (launch.sums_gradients) return named(sums_, program::kLossCall);
    if (launch.phase == Phase::step) return named(step_, program::kOptimizerCall);
    if (launch.op == program::kLossCall) return named(loss_, program::kLossCall);
    if (launch.op >= place_.size()) place_.resize(launch.op + 1, kNowhere);
    if (place_[launch.op] == kNowhere) {
      place_[launch.op] = layers_.size();
      layers_.push_back({.time = {.op = launch.op}});
    }
    return layers_[place_[launch.op]];
  }
  [[nodiscard]] std::vector<Entry> all() && {
    for (std::optional<Entry>* last : {&loss_, &sums_, &step_})
      if (*last) layers_.push_back(**last);
    return std::move(layers_);
  }

 private:
  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);
  static Entry& named(std::optional<Entry>& entry, std::uint32_t op) {
    if (!entry) entry = Entry{.time = {.op = op}};
    return *entry;
  }
  std::vector<Entry> layers_;
  std::vector<std::size_t> place_;  ///< by operator
  std::optional<Entry> loss_, sums_, step_;
};

/// Weights go from the host's memory, which is rarely pinned, tensor by tensor.
std::optional<Seconds> load_time(const Program& program, const hardware::Device& device) {
  if (!device.calibration) return std::nullopt;
  const hardware::Ceiling* rate =
      hardware::ceiling_named(device.calibration->ceilings, "copy-to-device-pageable");
  if (rate == nullptr) return std::nullopt;
  double bytes = 0;
  for (const program::StorageId id : program.resident)
    if (program.storage(id).purpose == program::Purpose::weight)
      bytes += static_cast<double>(program.storage(id).bytes);
  return Seconds(bytes / rate->figure.value + kTensorOverhead * static_cast<double>(program.resident.size()));
}

void finish_layers(Layers layers, bool calibrated, const hardware::Device& device, TimeEstimate& out) {
  for (Layers::Entry& entry : std::move(layers).all()) {
    LayerTime& layer = entry.time;
    entry.sum.set_interval(calibrated, layer.low, layer.high);
    layer.bottleneck = entry.sum.bottleneck();
    if (!device.memory_bandwidth) layer.read = layer.write = Seconds();
    out.layers.push_back(layer);
  }
}

/// "Calibrated" where measured points tell most of it; what they do not tell is named.
void set_provenance(const Program& program, const Sum& all, bool calibrated, TimeEstimate& out) {
  constexpr double kWorthSaying = 0.01;
  if (calibrated && all.by_datasheet < all.seconds / 2) out.provenance = Provenance::calibrated;
  out.stored_formats = program.stored_formats;
  if (!program.unruled.empty())
    out.notes.push_back(fmt::format("{}: timed by the work that is counted, since no kernel is known for it",
                                    fmt::join(program.unruled, ", ")));
  if (calibrated && all.by_datasheet > kWorthSaying * all.seconds)
    out.notes.push_back(fmt::format("{:.0f} % of the time is of kernels that the calibration does not have",
                                    100 * all.by_datasheet / all.seconds));
}

/// Products in a format for which the device has no units, or for which frameworks have no kernels.
void note_formats(const Program& program, const Profile& profile, const hardware::Device& device,
                  TimeEstimate& out) {
  std::array<bool, hardware::kArithmetics> said{};
  for (const ProfiledKernel& kernel : profile.kernels) {
    const OperatorCase& what = program.kernels[kernel.launch.kernel];
    bool& known = said[static_cast<std::size_t>(what.arithmetic)];
    if (known || !is_product(what.operator_class)) continue;
    known = true;
    const std::string_view format = hardware::name(what.arithmetic);
    const bool half = what.arithmetic == hardware::Arithmetic::bf16 ||
                      what.arithmetic == hardware::Arithmetic::fp16 ||
                      what.arithmetic == hardware::Arithmetic::int8;
    if (half && !device.peak_of(what.arithmetic))
      out.notes.push_back(fmt::format(
          "{} has no units for {}: timed at the rate of the next wider format that it has, in which such "
          "products are computed there",
          device.name, format));
    else if (what.arithmetic == hardware::Arithmetic::int8)
      out.notes.emplace_back(
          "int8: by the datasheet's rate; PyTorch runs no whole network so, and nobody has timed one here");
  }
}

}  // namespace

TimeEstimate estimate_time(const Program& program, const Profile& profile, const Target& target) {
  const hardware::Device& device = *target.device;
  TimeEstimate out;
  out.seconds = profile.seconds;
  out.eager = profile.eager;
  out.eager_launch = profile.eager_launch;
  out.passes = profile.passes;
  EnergyMeter energy(device, profile.calibrated);
  Layers layers;
  Sum all;
  Seconds products_at_peak;
  const double bandwidth = device.memory_bandwidth ? device.memory_bandwidth->value : 1;
  for (const ProfiledKernel& kernel : profile.kernels) {
    const OperatorCase& what = program.kernels[kernel.launch.kernel];
    auto& [layer, sum] = layers.of(kernel.launch);
    const auto times = static_cast<double>(kernel.launch.passes);
    (kernel.launch.phase == Phase::backward ? layer.backward : layer.forward) += kernel.all();
    layer.flops += times * kernel.work.flops;
    layer.bytes += times * kernel.work.bytes();
    layer.read += Seconds(times * kernel.work.bytes_read / bandwidth);
    layer.write += Seconds(times * kernel.work.bytes_written / bandwidth);
    layer.kernels += kernel.launch.passes;
    if (const auto rate = rate_of(device, what.arithmetic)) {
      const Seconds at_peak(times * kernel.work.flops_at_peak() / *rate);
      layer.compute += at_peak;
      if (is_product(what.operator_class) || program::is_stored_product(what)) products_at_peak += at_peak;
    }
    sum.add(kernel);
    all.add(kernel);
    Seconds& part = kernel.launch.phase == Phase::forward    ? out.forward
                    : kernel.launch.phase == Phase::backward ? out.backward
                                                             : out.optimizer;
    part += kernel.all();
    if (kernel.launch.recomputed) out.recomputed += kernel.all();
    out.flops += times * kernel.work.flops;
    out.bytes += times * kernel.work.bytes();
    energy.add(kernel.work, what.arithmetic, kernel.seconds, kernel.change, times);
  }
  finish_layers(std::move(layers), profile.calibrated, device, out);
  all.set_interval(profile.calibrated, out.low, out.high);
  out.bottleneck = all.bottleneck();
  if (const auto consumed = energy.estimate(out.seconds, out.high)) {
    out.joules = consumed->joules;
    out.low_joules = consumed->low;
    out.high_joules = consumed->high;
  }
  if (products_at_peak > Seconds()) out.share_of_peak = products_at_peak / out.seconds;
  out.load = load_time(program, device);
  set_provenance(program, all, profile.calibrated, out);
  note_formats(program, profile, device, out);
  return out;
}

Result<TimeEstimate> estimate_time(const Program& program, const network::Setting& setting,
                                   const Target& target) {
  const Result<Profile> profiled = profile(program, setting, target);
  PLIMSOLL_TRY(profiled);
  return with_communication(estimate_time(program, *profiled, target), program, setting, *target.device);
}

}  // namespace plimsoll::estimate
