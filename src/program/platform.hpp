#pragma once
#include <cstdint>

#include "hardware/device.hpp"
#include "network/setting.hpp"

namespace plimsoll::hardware {
class OperatorCurves;
}

namespace plimsoll::program {

/// What of a device decides which kernels a framework runs on it, and what they allocate. Devices with equal
/// platforms run the same program; what no program can depend on is left as it is by default.
struct Platform {
  bool gpu = true;                                   ///< false: no library workspaces
  std::int64_t multiprocessors = 132;                ///< how far reductions split
  const hardware::OperatorCurves* curves = nullptr;  ///< with workspaces as measured; null: by rule
  bool rule_is_of_device = true;                     ///< the rule of workspaces was made on this very device
  bool eight_bits = false;  ///< it has a rate for whole numbers of 8 bits: quantised layers run on them
  friend bool operator==(const Platform&, const Platform&) = default;
};

/// `curves`: of the device's calibration; null where it has none, or it is not to be used. They must outlive
/// the platform.
[[nodiscard]] Platform platform_of(const hardware::Device& device, const hardware::OperatorCurves* curves,
                                   const network::Setting& setting);

}  // namespace plimsoll::program
