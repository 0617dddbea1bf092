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

/// Operators to time in a row, as they follow each other in a network.
struct OperatorChain {
  std::string name;  ///< that the answer is told by
  std::vector<OperatorCase> cases;
  friend bool operator==(const OperatorChain&, const OperatorChain&) = default;
};

}  // namespace plimsoll::job
