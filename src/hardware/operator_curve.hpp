#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "hardware/calibration.hpp"

namespace plimsoll::hardware {

/// How long an operator takes, as measured neighbours tell.
struct Prediction {
  double seconds = 0;
  double log_error = 0;  ///< one standard deviation of the prediction's logarithm
};

/// The efficiency of each class of operators as a function of its extents: the measured points most alike
/// tell how much slower than expected the class is there. What is expected follows from the FLOP/s and B/s
/// that the best of the class reach, so that between and beyond the points times grow with the work.
/// A class is prepared when it is first asked about, by whichever thread asks: a network uses a few of them.
class OperatorCurves {
 public:
  explicit OperatorCurves(std::span<const OperatorPoint> points);

  /// Nothing where the class was not measured in that direction and arithmetic.
  [[nodiscard]] std::optional<Prediction> predict(const OperatorCase& c) const;
  /// FLOP/s of the best point of the case's group.
  [[nodiscard]] std::optional<double> best_rate(const OperatorCase& c) const;

  /// B of scratch memory, by the nearest measured case: of a case that is not quite the same, as large a
  /// share of its bytes. Nothing where none was measured, or none near enough. Algorithms change suddenly,
  /// and with them what they need: `same` takes nothing but the very case.
  enum class Near : std::uint8_t { same, alike };
  [[nodiscard]] std::optional<double> workspace(const OperatorCase& c, Near near) const;

  /// Cases whose point is more than `factor` times what the others of its class predict.
  [[nodiscard]] std::vector<OperatorCase> slower_than_alike(double factor) const;

  /// The points of each class predicted from the others.
  [[nodiscard]] std::vector<ClassFit> fits() const;

 private:
  struct Point;
  struct Curve;
  struct Group;
  struct Groups;
  [[nodiscard]] const Curve* curve_of(const OperatorCase& c) const;
  /// Shared because copies have the same points, and what one has prepared the others need not.
  std::shared_ptr<const Groups> groups_;
};
[[nodiscard]] std::vector<ClassFit> fit_classes(std::span<const OperatorPoint> points);

}  // namespace plimsoll::hardware
