#pragma once
#include <optional>
#include <span>
#include <vector>

#include "hardware/calibration.hpp"

namespace plimsoll::hardware {

/// How long an operator takes, as measured neighbours tell.
struct Prediction {
  double seconds = 0;
  double log_error = 0;  ///< about so far off, as a logarithm: how the neighbours scatter around their trend
  std::optional<double> workspace = {};  ///< B, of the nearest point; nothing where none is near
};

/// The efficiency of each class of operators as a function of its extents: of the measured points, those most
/// alike (the same kernel and stride, the same alignment, extents that differ by the fewest doublings) give a
/// linear trend of log(time / floor), the floor being what the best of the class reach in FLOP/s and B/s.
class OperatorCurves {
 public:
  explicit OperatorCurves(std::span<const OperatorPoint> points);
  OperatorCurves(const OperatorCurves&);
  OperatorCurves(OperatorCurves&&) noexcept;
  OperatorCurves& operator=(const OperatorCurves&);
  OperatorCurves& operator=(OperatorCurves&&) noexcept;
  ~OperatorCurves();

  /// Nothing where the class was not measured in that direction and arithmetic.
  [[nodiscard]] std::optional<Prediction> predict(const OperatorCase& c) const;

  /// The points of each class predicted from the others.
  [[nodiscard]] std::vector<ClassFit> fits() const;

 private:
  struct Point;
  struct Curve;
  std::vector<Curve> curves_;
};
[[nodiscard]] std::vector<ClassFit> fit_classes(std::span<const OperatorPoint> points);

}  // namespace plimsoll::hardware
