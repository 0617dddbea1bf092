#include "estimate/time/time.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "estimate/time/energy.hpp"
#include "estimate/time/roofline.hpp"
#include "hardware/ceilings.hpp"
#include "hardware/operator_curve.hpp"
#include "hardware/operator_place.hpp"

namespace plimsoll::estimate {
namespace {

using hardware::OperatorCase;
using hardware::OperatorClass;

// What all kernels of a network have in common, beside each one's own error. Calibrations time a kernel by
// itself; in a network it finds the caches as others left them, and short ones feel that most (docs/time.md).
constexpr double kCommonError = 0.06, kShortKernelError = 0.13;
constexpr double kShortKernel = 20e-6;         // s
constexpr double kCommonRooflineError = 0.25;  // the datasheet's
constexpr double kNormal95 = 1.96;
// Of an H200, whose calibration has them; assumed for every GPU that nobody has calibrated. The host's time
// per kernel, and what a product takes longer after a different kernel.
constexpr double kEagerLaunch = 1.111e-5;                                   // s
constexpr double kProductChange = 1.185e-6, kHalfProductChange = 1.944e-6;  // s
constexpr double kTensorOverhead = 1e-5;                                    // s per tensor that is loaded

/// What networks are measured in FLOP/s for, and what peaks are given for.
bool is_product(OperatorClass what) {
  return hardware::is_matrix_product(what) || what == OperatorClass::depthwise ||
         what == OperatorClass::depthwise_channels_last;
}

/// Sums kernel after kernel, in the order in which they run.
class Clock {
 public:
  Clock(const hardware::Device& device, const hardware::OperatorCurves* curves)
      : device_(device), curves_(curves), energy_(device, curves != nullptr) {}

  /// Nothing where the device has too few figures. Networks repeat their layers, and to look up a curve takes
  /// long: what was predicted is kept.
  [[nodiscard]] std::optional<KernelTime> time(const OperatorCase& c) {
    if (curves_ == nullptr) return by_datasheet(c);
    const auto [entry, fresh] = predicted_.try_emplace(c);
    if (fresh) entry->second = calibrated_time(c);
    return entry->second;
  }

  bool run(const OperatorCase& c, LayerTime& layer, Seconds LayerTime::* part) {
    const std::optional<KernelTime> kernel = time(c);
    if (!kernel) return false;
    const hardware::OperatorWork work = hardware::work_of(c);
    const double seconds = kernel->seconds.value();
    layer.*part += kernel->seconds;
    layer.flops += work.flops;
    layer.bytes += work.bytes;
    ++layer.kernels;
    variance_ += std::pow(seconds * kernel->log_error, 2);
    layer_variance_ += std::pow(seconds * kernel->log_error, 2);
    if (seconds < kShortKernel) {
      short_ += seconds;
      layer_short_ += seconds;
    }
    by_bottleneck_[static_cast<std::size_t>(kernel->bottleneck)] += seconds;
    layer_by_bottleneck_[static_cast<std::size_t>(kernel->bottleneck)] += seconds;
    if (const auto rate = rate_of(device_, c.arithmetic)) {
      const Seconds at_peak(work.flops / *rate);
      layer.compute += at_peak;
      if (is_product(c.operator_class)) products_at_peak_ += at_peak;
    }
    // The host hands over a kernel at a time, and the device waits where it is faster.
    host_ += eager_launch_;
    device_free_ = std::max(device_free_, host_) + seconds;
    energy_.add(work, c.arithmetic, kernel->seconds, kernel->change);
    return true;
  }

  void begin_layer() {
    layer_variance_ = layer_short_ = 0;
    layer_by_bottleneck_ = {};
  }
  void end_layer(LayerTime& layer, double written) const {
    const double seconds = (layer.forward + layer.backward).value();
    set_interval(seconds, layer_variance_, layer_short_, layer.low, layer.high);
    layer.bottleneck = largest(layer_by_bottleneck_);
    if (!device_.memory_bandwidth) return;
    const double rate = device_.memory_bandwidth->value;
    layer.write = Seconds(std::min(written, layer.bytes) / rate);
    layer.read = Seconds(std::max(layer.bytes - written, 0.0) / rate);
  }
  /// Of all kernels so far.
  void set_interval(Seconds seconds, Seconds& low, Seconds& high) const {
    set_interval(seconds.value(), variance_, short_, low, high);
  }
  [[nodiscard]] static Bottleneck largest(const std::array<double, 3>& seconds) {
    return static_cast<Bottleneck>(std::ranges::max_element(seconds) - seconds.begin());
  }

  void set_eager_launch(double seconds) { eager_launch_ = seconds; }
  [[nodiscard]] Bottleneck bottleneck() const { return largest(by_bottleneck_); }
  [[nodiscard]] Seconds eager() const { return Seconds(device_free_); }
  [[nodiscard]] std::optional<Joules> joules() const { return energy_.joules(); }
  /// What the products alone would take at the datasheet's peak, each in its own arithmetic.
  [[nodiscard]] Seconds products_at_peak() const { return products_at_peak_; }

 private:
  /// Kernels of a GPU follow each other as on the GPU that was measured.
  [[nodiscard]] std::optional<KernelTime> by_datasheet(const OperatorCase& c) const {
    std::optional<KernelTime> kernel = roofline_time(c, device_);
    if (!kernel || device_.kind != hardware::DeviceKind::gpu || !is_product(c.operator_class)) return kernel;
    kernel->change =
        Seconds(format_of(c.arithmetic) == KernelFormat::half ? kHalfProductChange : kProductChange);
    kernel->seconds += kernel->change;
    return kernel;
  }
  [[nodiscard]] std::optional<KernelTime> calibrated_time(const OperatorCase& c) const {
    const auto predicted = predict(c);
    if (!predicted) return roofline_time(c, device_);
    const Seconds change(change_before(c)), seconds = Seconds(predicted->seconds) + change;
    return KernelTime{.seconds = seconds,
                      .change = change,
                      .log_error = predicted->log_error,
                      .bottleneck = bottleneck_of(hardware::work_of(c), c.arithmetic, seconds, device_)};
  }
  /// Points are timed one after another of the same kind; in a network others come between.
  [[nodiscard]] double change_before(const OperatorCase& c) const {
    const bool half = format_of(c.arithmetic) == KernelFormat::half;
    if (!device_.calibration) return 0;
    for (const hardware::KernelChange& change : device_.calibration->changes)
      if ((format_of(change.arithmetic) == KernelFormat::half) == half)
        return is_product(c.operator_class) ? change.product : change.other;
    return 0;
  }
  void set_interval(double seconds, double variance, double in_short_kernels, Seconds& low,
                    Seconds& high) const {
    if (seconds <= 0) return;
    const double common = curves_ == nullptr
                              ? kCommonRooflineError
                              : std::hypot(kCommonError, kShortKernelError * in_short_kernels / seconds);
    const double deviation = std::hypot(std::sqrt(variance) / seconds, common);
    low = Seconds(seconds * std::exp(-kNormal95 * deviation));
    high = Seconds(seconds * std::exp(kNormal95 * deviation));
  }
  /// Libraries have better kernels for half precision where channels are the fastest: how much better nobody
  /// has timed, but no better than bandwidth allows.
  [[nodiscard]] std::optional<hardware::Prediction> between_layouts(
      std::optional<hardware::Prediction> other_layout, const OperatorCase& c) const {
    if (!other_layout || format_of(c.arithmetic) != KernelFormat::half || !device_.memory_bandwidth)
      return other_layout;
    const double least =
        kernel_gap(device_).value() + hardware::work_of(c).bytes / device_.memory_bandwidth->value;
    const double apart = std::max(std::log(other_layout->seconds / least), 0.0);
    return hardware::Prediction{other_layout->seconds * std::exp(-apart / 2),
                                std::hypot(apart / 2 / kNormal95, other_layout->log_error)};
  }
  /// Where nobody timed such kernels, by those that come closest; nothing where none does.
  [[nodiscard]] std::optional<hardware::Prediction> predict(OperatorCase c) const {
    using hardware::Arithmetic;
    const auto predicted = curves_->predict(c);
    if (predicted) return predicted;
    if (c.operator_class == OperatorClass::depthwise_channels_last) {
      c.operator_class = OperatorClass::depthwise;
      return between_layouts(curves_->predict(c), c);
    }
    // A boolean or a whole number takes as long as a float.
    if (c.arithmetic != Arithmetic::int8 && c.arithmetic != Arithmetic::fp64) return std::nullopt;
    c.arithmetic = Arithmetic::fp32;
    return curves_->predict(c);
  }

  const hardware::Device& device_;
  const hardware::OperatorCurves* curves_;
  std::map<OperatorCase, std::optional<KernelTime>> predicted_;
  EnergyMeter energy_;
  Seconds products_at_peak_;
  std::array<double, 3> by_bottleneck_{}, layer_by_bottleneck_{};
  double variance_ = 0, layer_variance_ = 0;
  double short_ = 0, layer_short_ = 0;  ///< s in short kernels
  double eager_launch_ = 0, host_ = 0, device_free_ = 0;
};

/// Sums of gradients where a value is read more than once: one kernel for each after the first.
std::vector<OperatorCase> accumulations(const Program& program) {
  std::map<std::uint32_t, std::int64_t> arrivals;
  for (const Call& call : program.calls)
    for (const Step& step : program.slice(call.backward))
      if (step.kind == StepKind::gradient || step.kind == StepKind::share)
        ++arrivals[static_cast<std::uint32_t>(step.value)];
  std::vector<OperatorCase> sums;
  for (const auto& [value, count] : arrivals) {
    const Value& v = program.values[value];
    const bool half = v.type == network::DataType::bfloat16 || v.type == network::DataType::float16;
    OperatorCase c{.operator_class = OperatorClass::binary,
                   .arithmetic = half ? hardware::Arithmetic::bf16 : hardware::Arithmetic::fp32};
    c.extents[0] = v.elements;
    for (std::int64_t i = 1; i < count; ++i) sums.push_back(c);
  }
  return sums;
}

OperatorCase optimizer_case(const Program& program, network::Optimizer optimizer) {
  OperatorCase c{.operator_class = optimizer == network::Optimizer::sgd ? OperatorClass::optimizer_sgd
                                   : optimizer == network::Optimizer::momentum
                                       ? OperatorClass::optimizer_momentum
                                       : OperatorClass::optimizer_adam};
  for (const ValueId id : program.parameters) {
    const Value& v = program.value(id);
    if (!v.needs_gradient) continue;
    ++c.extents[0];
    c.extents[1] += v.elements;
    if (v.type != network::DataType::float32) c.arithmetic = hardware::Arithmetic::bf16;
  }
  return c;
}

double written_bytes(const Program& program, const Call& call) {
  double bytes = 0;
  for (const Step& step : program.slice(call.forward))
    if (step.kind == StepKind::output) bytes += static_cast<double>(step.bytes);
  for (const Step& step : program.slice(call.backward))
    if (step.kind == StepKind::gradient) bytes += static_cast<double>(step.bytes);
  return bytes;
}

/// Weights go from the host's memory, which is rarely pinned, tensor by tensor.
std::optional<Seconds> load_time(const Program& program, const hardware::Device& device) {
  if (!device.calibration) return std::nullopt;
  const hardware::Ceiling* rate =
      hardware::ceiling_named(device.calibration->ceilings, "copy-to-device-pageable");
  if (rate == nullptr) return std::nullopt;
  double bytes = 0;
  for (const StorageId id : program.resident)
    if (program.storage(id).purpose == Purpose::weight)
      bytes += static_cast<double>(program.storage(id).bytes);
  return Seconds(bytes / rate->figure.value + kTensorOverhead * static_cast<double>(program.resident.size()));
}

}  // namespace

std::string_view name(Bottleneck bottleneck) {
  static constexpr std::string_view kNames[] = {"compute", "memory", "launch"};
  return kNames[static_cast<std::size_t>(bottleneck)];
}

Result<TimeEstimate> estimate_time(const network::Network& network, const network::Shapes& shapes,
                                   const TimeSetting& setting, const hardware::Device& device,
                                   const hardware::OperatorCurves* curves) {
  LoweringOptions options = setting.lowering;
  options.gpu = device.kind == hardware::DeviceKind::gpu;
  const Result<Program> program = lower(network, shapes, options);
  PLIMSOLL_TRY(program);
  return estimate_time(*program, setting, device, curves);
}

Result<TimeEstimate> estimate_time(const Program& program, const TimeSetting& setting,
                                   const hardware::Device& device, const hardware::OperatorCurves* curves) {
  TimeEstimate out;
  out.provenance = curves == nullptr ? hardware::Provenance::datasheet : hardware::Provenance::calibrated;
  Clock clock(device, curves);
  if (device.kind == hardware::DeviceKind::gpu)
    out.eager_launch = curves != nullptr && device.calibration && device.calibration->eager_launch
                           ? *device.calibration->eager_launch
                           : hardware::Figure{kEagerLaunch, hardware::Provenance::assumed, "as on an H200"};
  clock.set_eager_launch(out.eager_launch ? out.eager_launch->value : 0);
  const bool training = setting.lowering.mode == network::Mode::train;
  for (const Call& call : program.calls) {
    if (call.kernels.count == 0 && call.backward_kernels.count == 0) continue;
    if (out.layers.empty() || out.layers.back().op != call.op) out.layers.push_back({.op = call.op});
    LayerTime& layer = out.layers.back();
    clock.begin_layer();
    const auto kernels = std::span(program.kernels);
    for (const OperatorCase& c : kernels.subspan(call.kernels.begin, call.kernels.count))
      if (!clock.run(c, layer, &LayerTime::forward))
        return fail("{} has no figures for its rate and bandwidth", device.name);
    if (training)
      for (const OperatorCase& c : kernels.subspan(call.backward_kernels.begin, call.backward_kernels.count))
        static_cast<void>(clock.run(c, layer, &LayerTime::backward));
    clock.end_layer(layer, written_bytes(program, call));
  }
  if (training) {
    LayerTime sums{.op = kLossCall};
    clock.begin_layer();
    for (const OperatorCase& c : accumulations(program))
      static_cast<void>(clock.run(c, sums, &LayerTime::backward));
    clock.end_layer(sums, 0);
    if (sums.kernels > 0) out.layers.push_back(sums);
    LayerTime step{.op = kOptimizerCall};
    clock.begin_layer();
    static_cast<void>(clock.run(optimizer_case(program, setting.optimizer), step, &LayerTime::forward));
    clock.end_layer(step, 0);
    out.optimizer = step.forward;
    out.layers.push_back(step);
  }
  for (const LayerTime& layer : out.layers) {
    if (layer.op != kOptimizerCall) out.forward += layer.forward;
    out.backward += layer.backward;
    out.flops += layer.flops;
    out.bytes += layer.bytes;
  }
  out.seconds = out.forward + out.backward + out.optimizer;
  clock.set_interval(out.seconds, out.low, out.high);
  out.eager = clock.eager();
  out.bottleneck = clock.bottleneck();
  out.joules = clock.joules();
  if (clock.products_at_peak() > Seconds()) out.share_of_peak = clock.products_at_peak() / out.seconds;
  out.load = load_time(program, device);
  return out;
}

}  // namespace plimsoll::estimate
