#pragma once
#include <string>
#include <vector>

#include "base/error.hpp"
#include "calibrated_device.hpp"
#include "report/memory_report.hpp"

namespace plimsoll {

/// A device that an estimate is made for.
struct EstimateTarget {
  CalibratedDevice calibrated;
  std::vector<report::OtherUser> others;  ///< of this machine's GPU

  [[nodiscard]] const hardware::Device& device() const { return calibrated.device; }
  [[nodiscard]] bool is_calibrated() const { return calibrated.curves != nullptr; }
  [[nodiscard]] estimate::Target place() const { return calibrated.target(); }
};

/// The devices of these names, `this` where there are none. This machine's GPU less what others use of it.
[[nodiscard]] Result<std::vector<EstimateTarget>> estimate_targets(const std::vector<std::string>& names,
                                                                   const std::string& calibration);

}  // namespace plimsoll
