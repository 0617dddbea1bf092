#include "estimate/profile/roofline.hpp"

#include <algorithm>
#include <array>

#include "hardware/operator_place.hpp"
#include "program/program.hpp"

namespace plimsoll::estimate {
namespace {

using hardware::Arithmetic;
using hardware::Device;

constexpr double kGpuGap = 1.5e-6;  // s from one kernel of a captured graph to the next, with its ramp
// Activations that fit into the last cache are still there from the kernel before. It is about as much faster
// than the memory behind it on every GPU of the catalogue whose rates somebody has published.
constexpr double kCacheGain = 2;

}  // namespace

std::optional<double> rate_of(const Device& device, Arithmetic arithmetic) {
  static constexpr std::array<std::array<Arithmetic, 4>, hardware::kArithmetics> kWider = {{
      {Arithmetic::fp64, Arithmetic::fp64, Arithmetic::fp64, Arithmetic::fp64},
      {Arithmetic::fp32, Arithmetic::fp32, Arithmetic::fp32, Arithmetic::fp32},
      {Arithmetic::tf32, Arithmetic::fp32, Arithmetic::fp32, Arithmetic::fp32},
      {Arithmetic::fp16, Arithmetic::fp32, Arithmetic::bf16, Arithmetic::bf16},
      {Arithmetic::bf16, Arithmetic::fp32, Arithmetic::fp16, Arithmetic::fp16},
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

KernelFormat format_on(const Device& device, const hardware::OperatorCase& c) {
  const KernelFormat format = format_of(c.arithmetic);
  // In vector units half precision is at most twice as fast; matrix units are four times as fast and more.
  constexpr double kMatrixGain = 2.5;
  const auto rate = rate_of(device, c.arithmetic), vector = rate_of(device, Arithmetic::fp32);
  const bool by_matrix_units = rate && vector && *rate > kMatrixGain * *vector;
  return hardware::is_matrix_product(c.operator_class) && !by_matrix_units ? KernelFormat::vector : format;
}

std::optional<Seconds> roofline_seconds(const hardware::OperatorCase& c, const KernelEfficiency& e,
                                        const Device& device) {
  const bool multiplies = program::is_stored_product(c);
  const std::optional<double> rate = rate_of(
      device, hardware::is_matrix_product(c.operator_class) || multiplies ? c.arithmetic : Arithmetic::fp32);
  if (!rate || !device.memory_bandwidth) return std::nullopt;
  const hardware::OperatorWork work = hardware::work_of(c);
  const bool gpu = device.kind == hardware::DeviceKind::gpu;
  const double units = gpu && device.multiprocessors ? device.multiprocessors->value : 0;
  const bool cached = gpu && device.l2_cache && work.bytes() <= device.l2_cache->value;
  const double bandwidth = device.memory_bandwidth->value * (cached ? kCacheGain : 1);
  const double flops = work.flops_at_peak() * hardware::tile_padding(c);
  const double compute = work.flops > 0 ? (flops + e.ramp_flops * units) / (*rate * e.compute) : 0;
  const double memory = work.bytes() > 0 ? (work.bytes() + e.ramp_bytes * units) / (bandwidth * e.memory) : 0;
  return kernel_gap(device) + Seconds(std::max(compute, memory));
}

std::optional<KernelTime> roofline_time(const hardware::OperatorCase& c, const Device& device) {
  // Of what is only counted nobody knows how well it runs, nor in how many kernels.
  static constexpr KernelEfficiency kCounted{.log_error = 1};
  const bool counted = c.operator_class == hardware::OperatorClass::counted;
  const KernelEfficiency& efficiency = counted ? kCounted : efficiency_of(c, format_on(device, c));
  const std::optional<Seconds> seconds = roofline_seconds(c, efficiency, device);
  if (!seconds) return std::nullopt;
  return KernelTime{.seconds = *seconds,
                    .log_error = efficiency.log_error,
                    .provenance = counted ? Provenance::assumed : Provenance::datasheet,
                    .bottleneck = bottleneck_of(hardware::work_of(c), c.arithmetic, *seconds, device)};
}

Bottleneck bottleneck_of(const hardware::OperatorWork& work, Arithmetic arithmetic, Seconds seconds,
                         const Device& device) {
  const std::optional<double> rate = rate_of(device, arithmetic);
  const double compute = rate ? work.flops_at_peak() / *rate : 0;
  const double memory = device.memory_bandwidth ? work.bytes() / device.memory_bandwidth->value : 0;
  // Where neither peak explains even a tenth of it, it is the way to the kernel that takes the time.
  constexpr double kExplained = 0.1;
  if (device.kind == hardware::DeviceKind::gpu && std::max(compute, memory) < kExplained * seconds.value() &&
      seconds.value() < 20 * kernel_gap(device).value())
    return Bottleneck::launch;
  return compute > memory ? Bottleneck::compute : Bottleneck::memory;
}

}  // namespace plimsoll::estimate
