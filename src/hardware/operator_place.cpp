#include "hardware/operator_place.hpp"

#include <algorithm>
#include <cmath>

namespace plimsoll::hardware {
namespace {

/// A trait that differs counts as so many doublings.
constexpr double kTraitDoublings = 2;
/// Channels that matrix units take whole.
constexpr std::int64_t kAligned = 8;

double doublings(std::int64_t extent) {
  return std::log2(static_cast<double>(std::max<std::int64_t>(extent, 1)));
}

std::int64_t outputs(std::int64_t in, std::int64_t kernel, std::int64_t padding, std::int64_t stride) {
  return std::max<std::int64_t>(1, (in + 2 * padding - kernel) / std::max<std::int64_t>(stride, 1) + 1);
}

OperatorPlace convolution(const Extents& e, OperatorClass operator_class) {
  const double positions =
      doublings(outputs(e[2], e[5], e[5] / 2, e[7])) + doublings(outputs(e[3], e[6], e[6] / 2, e[7]));
  const std::int64_t groups = std::max<std::int64_t>(e[8], 1);
  OperatorPlace place;
  if (operator_class == OperatorClass::depthwise)
    place.coordinates = {doublings(e[0]), positions, doublings(e[1])};
  else if (operator_class == OperatorClass::grouped)
    place.coordinates = {doublings(e[0]), positions, doublings(e[1]), doublings(e[1] / groups)};
  else
    place.coordinates = {doublings(e[0]), positions, doublings(e[4]), doublings(e[1])};
  place.traits = {e[5] << 20 | e[6], e[7], e[1] / groups % kAligned == 0 ? 1 : 0};
  return place;
}

OperatorPlace plain(const Extents& e) {
  OperatorPlace place;
  for (std::size_t i = 0; i < kCoordinates; ++i) place.coordinates[i] = e[i] > 0 ? doublings(e[i]) : 0;
  return place;
}

}  // namespace

OperatorPlace place_of(const OperatorCase& c) {
  const Extents& e = c.extents;
  switch (c.operator_class) {
    case OperatorClass::convolution:
    case OperatorClass::grouped:
    case OperatorClass::depthwise: return convolution(e, c.operator_class);
    case OperatorClass::matrix:
      return {{doublings(e[0]), doublings(e[1]), doublings(e[2])}, {e[3], e[1] % kAligned == 0 ? 1 : 0}};
    case OperatorClass::attention:
      return {{doublings(e[0]) + doublings(e[1]), doublings(e[2]), doublings(e[3]), doublings(e[4])},
              {e[5], e[2] == 1 ? 1 : 0}};
    case OperatorClass::max_pool:
    case OperatorClass::average_pool:
      return {{doublings(e[0]) + doublings(e[1]), doublings(e[2]) + doublings(e[3])}, {e[4], e[5]}};
    case OperatorClass::group_norm:
      return {{doublings(e[0]) + doublings(e[3]), doublings(e[1]) - doublings(e[3]), doublings(e[2])}, {}};
    default: return plain(e);
  }
}

std::size_t coordinate_count(OperatorClass operator_class) {
  switch (operator_class) {
    case OperatorClass::convolution:
    case OperatorClass::grouped:
    case OperatorClass::attention: return 4;
    case OperatorClass::depthwise:
    case OperatorClass::matrix:
    case OperatorClass::group_norm: return 3;
    case OperatorClass::max_pool:
    case OperatorClass::average_pool: return 2;
    default: return std::min(extent_count(operator_class), kCoordinates);
  }
}

double squared_distance(const OperatorPlace& a, const OperatorPlace& b) {
  double sum = 0;
  for (std::size_t i = 0; i < kCoordinates; ++i) {
    const double apart = a.coordinates[i] - b.coordinates[i];
    sum += apart * apart;
  }
  for (std::size_t i = 0; i < kTraits; ++i)
    if (a.traits[i] != b.traits[i]) sum += kTraitDoublings * kTraitDoublings;
  return sum;
}

}  // namespace plimsoll::hardware
