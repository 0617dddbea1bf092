#include "estimate/time/energy.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "estimate/time/roofline.hpp"
#include "hardware/ceilings.hpp"

namespace plimsoll::estimate {
namespace {

using hardware::Arithmetic;
using hardware::Ceiling;
using hardware::ceiling_named;

// Where only the board's limit is known: what a GPU draws idle as a share of it, the share of peak at which a
// product draws all of it, and what full bandwidth draws. Measured on an H200 (docs/time.md).
constexpr double kIdleShare = 0.12, kProductShare = 0.75, kMemoryShare = 0.6;

/// What a FLOP takes beside the idle power, by the load of that format that was measured.
std::optional<double> joules_per_flop(const hardware::Calibration& calibration, std::string_view format,
                                      double idle) {
  const Ceiling* energy = ceiling_named(calibration.ceilings, fmt::format("energy-product-{}", format));
  const Ceiling* rate = ceiling_named(calibration.ceilings, fmt::format("product-{}", format));
  if (energy == nullptr || rate == nullptr) return std::nullopt;
  return std::max(energy->figure.value - idle / rate->figure.value, 0.0);
}

}  // namespace

void EnergySum::add(const hardware::OperatorWork& work, Arithmetic arithmetic, Seconds seconds) {
  flops_[static_cast<std::size_t>(arithmetic)] += work.flops;
  bytes_ += work.bytes;
  seconds_ += seconds;
}

std::optional<Joules> EnergySum::joules(const hardware::Device& device, bool calibrated) const {
  const hardware::Calibration* calibration =
      calibrated && device.calibration ? &*device.calibration : nullptr;
  const Ceiling* idle = calibration == nullptr ? nullptr : ceiling_named(calibration->ceilings, "idle-power");
  const Ceiling* memory =
      calibration == nullptr ? nullptr : ceiling_named(calibration->ceilings, "energy-memory-triad");
  const Ceiling* bandwidth =
      calibration == nullptr ? nullptr : ceiling_named(calibration->ceilings, "memory-triad");
  const std::optional<double> half =
      idle == nullptr ? std::nullopt : joules_per_flop(*calibration, "bf16", idle->figure.value);
  const double most = device.power ? device.power->value * seconds_.value() : -1;
  if (idle != nullptr && memory != nullptr && bandwidth != nullptr && half) {
    const double idle_watts = idle->figure.value;
    double sum = idle_watts * seconds_.value();
    sum += bytes_ * std::max(memory->figure.value - idle_watts / bandwidth->figure.value, 0.0);
    const std::optional<double> full = joules_per_flop(*calibration, "fp32", idle_watts);
    for (int i = 0; i < hardware::kArithmetics; ++i) {
      const auto arithmetic = static_cast<Arithmetic>(i);
      const bool vector_units = arithmetic == Arithmetic::fp32 || arithmetic == Arithmetic::fp64;
      // Matrix units draw the same power in every format: a FLOP of a slower one takes as much more.
      const auto rate = rate_of(device, arithmetic), reference = rate_of(device, Arithmetic::bf16);
      const double scale = rate && reference ? *reference / *rate : 1;
      sum += flops_[static_cast<std::size_t>(i)] * (vector_units && full ? *full : *half * scale);
    }
    return Joules(most > 0 ? std::min(sum, most) : sum);
  }
  if (!device.power || !device.memory_bandwidth) return std::nullopt;
  const double watts = device.power->value;
  double busy = kMemoryShare * bytes_ / device.memory_bandwidth->value;
  for (int i = 0; i < hardware::kArithmetics; ++i)
    if (const auto rate = rate_of(device, static_cast<Arithmetic>(i)))
      busy += flops_[static_cast<std::size_t>(i)] / (*rate * kProductShare);
  return Joules(std::min(watts * (kIdleShare * seconds_.value() + (1 - kIdleShare) * busy), most));
}

}  // namespace plimsoll::estimate
