#include "estimate/profile/power_limit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "hardware/ceilings.hpp"
#include "hardware/operator_curve.hpp"
#include "hardware/operator_place.hpp"

namespace plimsoll::estimate {
namespace {

using hardware::Arithmetic;

// How soon the clock falls as the units are busier, and what the memory's power adds to that. Fitted to
// eleven loads on an H200 (bench/device/power_limit.py, docs/figures/power_limit_h200.txt).
constexpr double kSteepness = 3.4, kOfMemory = 1.0, kMost = 1.1;

/// Matrix units in one format.
struct Units {
  double burst = 0;  ///< FLOP/s, the best of the calibration's products
  double fully = 1;  ///< burst over what is sustained
};

/// Nothing for vector units: at full rate they stay below the limit.
std::optional<Units> units_of(Arithmetic arithmetic, const Target& target) {
  if (arithmetic != Arithmetic::bf16 && arithmetic != Arithmetic::fp16 && arithmetic != Arithmetic::tf32)
    return std::nullopt;
  const hardware::Ceiling* sustained = hardware::ceiling_named(target.device->calibration->ceilings,
                                                               fmt::format("product-{}", name(arithmetic)));
  const std::optional<double> burst =
      target.curves->best_rate({.operator_class = hardware::OperatorClass::matrix, .arithmetic = arithmetic});
  if (sustained == nullptr || sustained->figure.value <= 0 || !burst) return std::nullopt;
  return Units{*burst, std::max(*burst / sustained->figure.value, 1.0)};
}

}  // namespace

double slow_down(double compute, double memory, double fully) {
  const double busy = std::clamp(1 + kSteepness * (compute - 1) + kOfMemory * memory, 0.0, kMost);
  return 1 + (fully - 1) * busy;
}

void hold_to_power_limit(const program::Program& program, const Target& target,
                         std::vector<ProfiledKernel>& kernels) {
  const hardware::Device& device = *target.device;
  if (target.curves == nullptr || !device.calibration || device.kind != hardware::DeviceKind::gpu) return;
  const hardware::Ceiling* triad = hardware::ceiling_named(device.calibration->ceilings, "memory-triad");
  if (triad == nullptr || triad->figure.value <= 0) return;
  std::array<std::optional<std::optional<Units>>, hardware::kArithmetics> known;
  const auto units = [&](Arithmetic arithmetic) -> const std::optional<Units>& {
    auto& found = known[static_cast<std::size_t>(arithmetic)];
    if (!found) found = units_of(arithmetic, target);
    return *found;
  };
  double seconds = 0, in_products = 0, compute = 0, bytes = 0, fully = 0;
  for (const ProfiledKernel& kernel : kernels) {
    const hardware::OperatorCase& what = program.kernels[kernel.launch.kernel];
    const auto passes = static_cast<double>(kernel.launch.passes);
    seconds += kernel.seconds.value() * passes;
    bytes += kernel.work.bytes() * passes;
    if (!is_product(what.operator_class)) continue;
    const std::optional<Units>& of = units(what.arithmetic);
    if (!of) continue;
    in_products += kernel.seconds.value() * passes;
    const double at_burst = kernel.work.flops_at_peak() * passes / of->burst;
    compute += at_burst;
    fully += at_burst * of->fully;
  }
  if (compute <= 0 || in_products <= 0 || !std::isfinite(seconds) || !std::isfinite(bytes + fully)) return;
  const double longer = slow_down(std::min(compute / seconds, 1.0),
                                  std::min(bytes / triad->figure.value / seconds, 1.0), fully / compute);
  // Kernels that wait for memory do not mind the clock.
  const double products = 1 + (longer - 1) * seconds / in_products;
  for (ProfiledKernel& kernel : kernels) {
    const hardware::OperatorCase& what = program.kernels[kernel.launch.kernel];
    if (is_product(what.operator_class) && units(what.arithmetic)) kernel.seconds = kernel.seconds * products;
  }
}

}  // namespace plimsoll::estimate
