#pragma once
#include <map>
#include <optional>

#include "estimate/profile/roofline.hpp"
#include "estimate/target.hpp"
#include "hardware/operator_curve.hpp"

namespace plimsoll::estimate {

/// How long kernels take on a target, each after a different one.
class KernelTimer {
 public:
  explicit KernelTimer(const Target& target) : device_(*target.device), curves_(target.curves) {}

  /// Nothing where the device has too few figures. Networks repeat their layers, and to look up a curve takes
  /// long: what was predicted is kept.
  [[nodiscard]] std::optional<KernelTime> time(const hardware::OperatorCase& c);

 private:
  [[nodiscard]] std::optional<KernelTime> by_datasheet(const hardware::OperatorCase& c) const;
  [[nodiscard]] std::optional<KernelTime> calibrated(const hardware::OperatorCase& c) const;
  [[nodiscard]] double change_before(const hardware::OperatorCase& c) const;
  [[nodiscard]] std::optional<hardware::Prediction> predict(hardware::OperatorCase c) const;
  [[nodiscard]] std::optional<hardware::Prediction> between_layouts(
      std::optional<hardware::Prediction> other_layout, const hardware::OperatorCase& c) const;

  const hardware::Device& device_;
  const hardware::OperatorCurves* curves_;
  std::map<hardware::OperatorCase, std::optional<KernelTime>> known_;
};

}  // namespace plimsoll::estimate
