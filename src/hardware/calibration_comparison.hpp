#pragma once
#include <optional>
#include <vector>

#include "hardware/calibration.hpp"

namespace plimsoll::hardware {

/// One class of operators in two calibrations. Efficiencies of both count from the same floor, what the best
/// of either reach, so that one lucky point does not shift a whole class.
struct ClassDifference {
  OperatorClass operator_class = OperatorClass::unary;
  Direction direction = Direction::forward;
  Arithmetic arithmetic = Arithmetic::fp32;
  std::int64_t points = 0;  ///< that both have
  double first = 0;         ///< efficiency: geometric mean of floor / measured over those
  double second = 0;
  /// The second's over the first's, less 1.
  [[nodiscard]] double change() const { return second / first - 1; }
};

/// A ceiling that both have, by name and size.
struct CeilingDifference {
  const Ceiling* first = nullptr;
  const Ceiling* second = nullptr;
  [[nodiscard]] double change() const { return second->figure.value / first->figure.value - 1; }
};

struct CalibrationDifference {
  std::vector<CeilingDifference> ceilings = {};  ///< of the calibrations compared, which must outlive them
  std::vector<ClassDifference> classes = {};     ///< those with points in common
};
[[nodiscard]] CalibrationDifference compare(const Calibration& first, const Calibration& second);

}  // namespace plimsoll::hardware
