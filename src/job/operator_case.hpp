#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace plimsoll::job {

/// One operator to time, by the names that stand in a device's calibration (hardware/calibration.hpp).
struct OperatorCase {
  std::string operator_class;  ///< "convolution"
  std::string direction;       ///< "forward", "backward-input", "backward-weight"
  std::string arithmetic;      ///< "tf32"
  std::vector<std::int64_t> extents;
  friend bool operator==(const OperatorCase&, const OperatorCase&) = default;
};

}  // namespace plimsoll::job
