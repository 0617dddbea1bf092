#include "estimate/time/roofline.hpp"

#include <algorithm>
#include <array>

namespace plimsoll::estimate {
namespace {

using hardware::Arithmetic;
using hardware::Device;
using hardware::OperatorClass;

/// What kernels of a class reach where the work fills the device, and how much work does so half: FLOPs and
/// bytes per multiprocessor. From the operator grid measured on an H200 (docs/time.md says how), and taken
/// for every device: shares of peaks move less from chip to chip than the peaks.
struct ClassEfficiency {
  double compute = 0.5, memory = 0.7;
  double half_flops = 0, half_bytes = 0;
};

constexpr std::array<ClassEfficiency, hardware::kOperatorClasses> kEfficiencies = [] {
  std::array<ClassEfficiency, hardware::kOperatorClasses> table;
  table.fill({0.5, 0.7, 0, 1e4});
  const auto set = [&](OperatorClass c, ClassEfficiency e) { table[static_cast<std::size_t>(c)] = e; };
  set(OperatorClass::convolution, {0.55, 0.35, 2e7, 1e4});
  set(OperatorClass::grouped, {0.10, 0.30, 2e6, 1e4});
  set(OperatorClass::depthwise, {0.05, 0.40, 0, 1e4});
  set(OperatorClass::matrix, {0.75, 0.60, 1e7, 1e4});
  set(OperatorClass::batched, {0.55, 0.60, 1e7, 1e4});
  set(OperatorClass::attention, {0.45, 0.50, 1e7, 1e4});
  return table;
}();

constexpr double kGpuGap = 1.5e-6;  // s from one kernel of a captured graph to the next, with its ramp
constexpr double kRooflineError = 0.35;

}  // namespace

std::optional<double> rate_of(const Device& device, Arithmetic arithmetic) {
  static constexpr std::array<std::array<Arithmetic, 4>, hardware::kArithmetics> kWider = {{
      {Arithmetic::fp64, Arithmetic::fp64, Arithmetic::fp64, Arithmetic::fp64},
      {Arithmetic::fp32, Arithmetic::fp32, Arithmetic::fp32, Arithmetic::fp32},
      {Arithmetic::tf32, Arithmetic::fp32, Arithmetic::fp32, Arithmetic::fp32},
      {Arithmetic::fp16, Arithmetic::bf16, Arithmetic::fp32, Arithmetic::fp32},
      {Arithmetic::bf16, Arithmetic::fp16, Arithmetic::fp32, Arithmetic::fp32},
      {Arithmetic::int8, Arithmetic::fp16, Arithmetic::fp32, Arithmetic::fp32},
      {Arithmetic::fp8, Arithmetic::fp16, Arithmetic::bf16, Arithmetic::fp32},
  }};
  for (const Arithmetic a : kWider[static_cast<std::size_t>(arithmetic)])
    if (const auto& figure = device.peak_of(a)) return figure->value;
  return std::nullopt;
}

Seconds kernel_gap(const Device& device) {
  return Seconds(device.kind == hardware::DeviceKind::gpu ? kGpuGap : 0);
}

std::optional<KernelTime> roofline_time(const hardware::OperatorCase& c, const Device& device) {
  const std::optional<double> rate = rate_of(device, c.arithmetic);
  if (!rate || !device.memory_bandwidth) return std::nullopt;
  const hardware::OperatorWork work = hardware::work_of(c);
  const ClassEfficiency& e = kEfficiencies[static_cast<std::size_t>(c.operator_class)];
  const double units = device.multiprocessors ? device.multiprocessors->value : 1;
  const bool gpu = device.kind == hardware::DeviceKind::gpu;
  const double fill_flops = gpu ? work.flops / (work.flops + e.half_flops * units) : 1;
  const double fill_bytes = gpu ? work.bytes / (work.bytes + e.half_bytes * units) : 1;
  const double compute = work.flops > 0 ? work.flops / (*rate * e.compute * std::max(fill_flops, 1e-6)) : 0;
  const double memory =
      work.bytes > 0 ? work.bytes / (device.memory_bandwidth->value * e.memory * std::max(fill_bytes, 1e-6))
                     : 0;
  const double gap = kernel_gap(device).value();
  const Seconds seconds(gap + std::max(compute, memory));
  return KernelTime{.seconds = seconds,
                    .log_error = kRooflineError,
                    .bottleneck = bottleneck_of(work, c.arithmetic, seconds, device)};
}

Bottleneck bottleneck_of(const hardware::OperatorWork& work, Arithmetic arithmetic, Seconds seconds,
                         const Device& device) {
  const std::optional<double> rate = rate_of(device, arithmetic);
  const double compute = rate ? work.flops / *rate : 0;
  const double memory = device.memory_bandwidth ? work.bytes / device.memory_bandwidth->value : 0;
  // Where neither peak explains even a tenth of it, it is the way to the kernel that takes the time.
  constexpr double kExplained = 0.1;
  if (device.kind == hardware::DeviceKind::gpu && std::max(compute, memory) < kExplained * seconds.value() &&
      seconds.value() < 20 * kernel_gap(device).value())
    return Bottleneck::launch;
  return compute > memory ? Bottleneck::compute : Bottleneck::memory;
}

}  // namespace plimsoll::estimate
