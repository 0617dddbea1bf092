#pragma once
#include <array>
#include <cstdint>

#include "hardware/calibration.hpp"

namespace plimsoll::hardware {

inline constexpr std::size_t kCoordinates = 5, kTraits = 4;

/// Where a case lies among others of its class: coordinates, of which 1 more is a doubling of some extent,
/// and traits that are the same or not (kernel, stride, whether channels fill the matrix units).
struct OperatorPlace {
  std::array<double, kCoordinates> coordinates{};
  std::array<std::int64_t, kTraits> traits{};
};
[[nodiscard]] OperatorPlace place_of(const OperatorCase& c);

/// How many of the coordinates a class uses; the others are 0.
[[nodiscard]] std::size_t coordinate_count(OperatorClass operator_class);

/// Squared: doublings, and a penalty for every trait that differs.
[[nodiscard]] double squared_distance(const OperatorPlace& a, const OperatorPlace& b);

}  // namespace plimsoll::hardware
