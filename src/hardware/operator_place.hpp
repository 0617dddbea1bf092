#pragma once
#include <array>
#include <cstdint>
#include <limits>
#include <optional>

#include "hardware/calibration.hpp"

namespace plimsoll::hardware {

inline constexpr std::size_t kCoordinates = 12;

/// Where a case lies among others of its class: doublings of its extents, traits that are there or not, how
/// well extents divide. Each is divided by the length over which efficiencies stay alike, so that two cases
/// at distance 1 tell about half of each other. The lengths are those that predicted an H200's points best
/// from each other (docs/calibration.md).
using OperatorPlace = std::array<double, kCoordinates>;
[[nodiscard]] OperatorPlace place_of(const OperatorCase& c);

/// Where it reaches `enough`, something that is at least that: a search compares thousands of places, and
/// most differ in the first few coordinates already.
[[nodiscard]] inline double squared_distance(const OperatorPlace& a, const OperatorPlace& b,
                                             double enough = std::numeric_limits<double>::infinity()) {
  constexpr std::size_t kStep = 4;
  static_assert(kCoordinates % kStep == 0);
  double sum = 0;
  for (std::size_t begin = 0; begin < kCoordinates; begin += kStep) {
    for (std::size_t i = begin; i < begin + kStep; ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
    if (sum >= enough) break;
  }
  return sum;
}

/// Whether matrix units have kernels for the class.
[[nodiscard]] bool is_matrix_product(OperatorClass operator_class);
[[nodiscard]] bool is_convolution(OperatorClass operator_class);  ///< of any grouping and layout
/// What networks are measured in FLOP/s for, and what peaks are given for: matrix products, and convolutions
/// of each channel by itself.
[[nodiscard]] bool is_product(OperatorClass operator_class);

/// How far a point in another arithmetic is from one with the same extents. Nothing where it tells nothing:
/// products in another format are other kernels.
[[nodiscard]] std::optional<double> distance_of(OperatorClass operator_class, Arithmetic a, Arithmetic b);

/// By how much convolutions compute more than they have to, because they compute whole tiles; 1 for others.
[[nodiscard]] double tile_padding(const OperatorCase& c);

}  // namespace plimsoll::hardware
