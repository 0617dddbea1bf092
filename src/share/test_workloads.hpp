#pragma once
#include <string>
#include <vector>

#include "hardware/catalogue.hpp"
#include "share/workload.hpp"

namespace plimsoll::share {

/// `count` kernels alike: `waves` of blocks, which all together run for `microseconds`.
inline std::vector<Kernel> kernels_alike(std::size_t count, double microseconds, double waves,
                                         estimate::Bottleneck bottleneck = estimate::Bottleneck::compute) {
  Kernel kernel{
      .seconds = static_cast<float>(microseconds * 1e-6), .gap = 0, .waves = static_cast<float>(waves)};
  kernel.groups = static_cast<std::uint16_t>(waves > 1 ? waves : 1);
  kernel.reach = static_cast<float>(waves < 1 ? waves : 1);
  kernel.sms = kernel.reach;
  kernel.bottleneck = bottleneck;
  return std::vector<Kernel>(count, kernel);
}

/// Captured; `steps_per_wait` 0: always more than one in the queue.
inline Workload captured(std::string name, std::vector<Kernel> kernels, int steps_per_wait = 0) {
  Workload out{.name = std::move(name), .kernels = std::move(kernels), .steps_per_wait = steps_per_wait};
  out.returns = Seconds(1.5e-5);
  out.step = step_of(out, out.kernels, 0, 1);
  return out;
}

inline hardware::Device device_named(const std::string& id) {
  return **hardware::built_in_catalogue()->find(id);
}

}  // namespace plimsoll::share
