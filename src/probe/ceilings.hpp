#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/statistics.hpp"
#include "hardware/calibration.hpp"
#include "hardware/ceilings.hpp"
#include "hardware/device.hpp"
#include "probe/study.hpp"

namespace plimsoll::probe {

/// Of all intervals here.
inline constexpr double kConfidence = 0.95;

/// A figure out of repeated samples, in its unit.
struct Median {
  double value = 0;
  double spread = 0;  ///< half of the median's interval as a share of it; of few samples half their range
};
/// Of times in seconds. `samples` is not empty.
[[nodiscard]] Median time_of(const std::vector<double>& samples);
/// Of a rate in its own unit: an amount over the median time, a time, watts, or joules by what was done.
/// Nothing where it has no samples, or lacks the joules that it is made of.
[[nodiscard]] std::optional<Median> value_of(const Rate& rate);
/// FLOP/s of a product of matrices.
[[nodiscard]] std::optional<Median> flops_of(const MatrixProduct& product);
/// The part of that name; nothing where it was not timed.
[[nodiscard]] const Part* part_of(const VectorAdd& add, std::string_view name);
/// B/s of the sum alone, two arrays read and one written.
[[nodiscard]] std::optional<Median> bandwidth_of(const VectorAdd& add);

/// What the datasheet promises for a rate of that name; nothing where it says nothing about it.
[[nodiscard]] std::optional<double> peak_of(const hardware::Device& device, std::string_view rate,
                                            std::optional<double> at);

/// The rates as ceilings of a device, in their order, each with its share of the peak. Of a rate that was
/// measured at several sizes, each size is one; caches may exceed what memory can do, and have no share.
[[nodiscard]] std::vector<hardware::Ceiling> ceilings_of(const Findings& findings,
                                                         const hardware::Device& device,
                                                         std::string_view source, std::string_view date);

using hardware::ceiling_named;

/// Whether it is one of a series over sizes, which are powers of two; what is measured beside a sum of arrays
/// has the sum's own.
[[nodiscard]] bool on_curve(const hardware::Ceiling& ceiling);

}  // namespace plimsoll::probe
