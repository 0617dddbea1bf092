#include "estimate/profile/kernel_timer.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "hardware/operator_place.hpp"
#include "network/saturating.hpp"

namespace plimsoll::estimate {
namespace {

using hardware::OperatorCase;
using hardware::OperatorClass;
using hardware::Prediction;

// What a product takes longer after a different kernel: of an H200, whose calibration has them; assumed for
// every GPU that nobody has calibrated.
constexpr double kProductChange = 1.185e-6, kHalfProductChange = 1.944e-6;  // s

/// The next fewer rows, or samples, whose time is asked for the sake of comparison; 0: none.
std::int64_t fewer_rows(const OperatorCase& c) {
  const std::int64_t rows = c.extents[0];
  const bool by_row = c.operator_class == OperatorClass::matrix ||
                      c.operator_class == OperatorClass::batched ||
                      c.operator_class == OperatorClass::embedding;
  const std::int64_t most = by_row ? 128 : is_product(c.operator_class) ? 8 : 0;
  if (rows < 2 || rows > most) return 0;
  if (by_row && rows <= 8) return rows - 1;
  const auto power = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(rows - 1)));
  return by_row && power + power / 2 < rows ? power + power / 2 : power;
}

}  // namespace

std::optional<KernelTime> KernelTimer::time(const OperatorCase& c) {
  if (curves_ == nullptr) return by_datasheet(c);
  if (const auto known = known_.find(c); known != known_.end()) return known->second;
  std::optional<KernelTime> found = calibrated(c);
  // Points of few rows scatter more than their times differ: more work is not done sooner.
  if (const std::int64_t rows = fewer_rows(c); found && rows > 0) {
    OperatorCase fewer = c;
    fewer.extents[0] = rows;
    if (const std::optional<KernelTime> least = time(fewer); least && least->seconds > found->seconds)
      found->seconds = least->seconds;
  }
  return known_.emplace(c, found).first->second;
}

/// Kernels of a GPU follow each other as on the GPU that was measured.
std::optional<KernelTime> KernelTimer::by_datasheet(const OperatorCase& c) const {
  std::optional<KernelTime> kernel = roofline_time(c, device_);
  if (!kernel || device_.kind != hardware::DeviceKind::gpu || !is_product(c.operator_class)) return kernel;
  kernel->change =
      Seconds(format_of(c.arithmetic) == KernelFormat::half ? kHalfProductChange : kProductChange);
  kernel->seconds += kernel->change;
  return kernel;
}

std::optional<KernelTime> KernelTimer::calibrated(const OperatorCase& c) const {
  const auto predicted = predict(c);
  if (!predicted) return by_datasheet(c);
  const Seconds change(change_before(c)), seconds = Seconds(predicted->seconds) + change;
  return KernelTime{.seconds = seconds,
                    .change = change,
                    .log_error = predicted->log_error,
                    .provenance = Provenance::calibrated,
                    .bottleneck = bottleneck_of(hardware::work_of(c), c.arithmetic, seconds, device_)};
}

/// Points are timed one after another of the same kind; in a network others come between.
double KernelTimer::change_before(const OperatorCase& c) const {
  const bool half = format_of(c.arithmetic) == KernelFormat::half;
  if (!device_.calibration) return 0;
  for (const hardware::KernelChange& change : device_.calibration->changes)
    if ((format_of(change.arithmetic) == KernelFormat::half) == half)
      return is_product(c.operator_class) ? change.product : change.other;
  return 0;
}

/// Libraries have better kernels for half precision where channels are the fastest: how much better nobody
/// has timed, but no better than bandwidth allows.
std::optional<Prediction> KernelTimer::between_layouts(std::optional<Prediction> other_layout,
                                                       const OperatorCase& c) const {
  if (!other_layout || format_of(c.arithmetic) != KernelFormat::half || !device_.memory_bandwidth)
    return other_layout;
  const double least =
      kernel_gap(device_).value() + hardware::work_of(c).bytes() / device_.memory_bandwidth->value;
  const double apart = std::max(std::log(other_layout->seconds / least), 0.0);
  return Prediction{other_layout->seconds * std::exp(-apart / 2),
                    std::hypot(apart / 2 / kNormal95, other_layout->log_error)};
}

/// Where nobody timed such kernels, by those that come closest; nothing where none does.
std::optional<Prediction> KernelTimer::predict(OperatorCase c) const {
  using hardware::Arithmetic;
  const auto predicted = curves_->predict(c);
  if (predicted) return predicted;
  // The two kinds of half precision move the same bytes.
  if (const bool bf16 = c.arithmetic == Arithmetic::bf16;
      (bf16 || c.arithmetic == Arithmetic::fp16) && !is_product(c.operator_class)) {
    OperatorCase other = c;
    other.arithmetic = bf16 ? Arithmetic::fp16 : Arithmetic::bf16;
    if (const auto of_other = curves_->predict(other)) return of_other;
  }
  if (const OperatorClass first = channels_first(c.operator_class); first != c.operator_class) {
    c.operator_class = first;
    return between_layouts(curves_->predict(c), c);
  }
  if (c.operator_class == OperatorClass::channel_sum) {
    OperatorCase rows = c;
    rows.operator_class = OperatorClass::row_sum;
    rows.extents = {c.extents[1], network::product(c.extents[0], c.extents[2])};
    return curves_->predict(rows);
  }
  // A boolean or a whole number takes as long as a float, but products have units of their own.
  if (is_product(c.operator_class)) return std::nullopt;
  if (c.arithmetic != Arithmetic::int8 && c.arithmetic != Arithmetic::fp64) return std::nullopt;
  c.arithmetic = Arithmetic::fp32;
  return curves_->predict(c);
}

}  // namespace plimsoll::estimate
