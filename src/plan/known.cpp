#include "plan/known.hpp"

#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace plimsoll::plan {

Known known(hardware::DeviceFigure figure) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  double low = figure.value;
  double high = figure.value;
  if (figure.bound == hardware::Bound::at_most) low = 0;
  if (figure.bound == hardware::Bound::more_than) {
    low = std::nextafter(low, infinity);  // "more than 5 W" does break a limit of 5 W
    high = infinity;
  }
  return {std::move(figure), low, high};
}

Known known(hardware::DeviceFigure figure, double low, double high) {
  return {std::move(figure), low, high};
}

Known times(const Known& known, double factor, std::string_view derivation) {
  Known out = known;
  out.figure.value *= factor;
  out.low *= factor;
  out.high *= factor;
  if (!derivation.empty()) out.figure.source = fmt::format("{}; {}", out.figure.source, derivation);
  return out;
}

std::string_view name(Standing standing) {
  constexpr std::array<std::string_view, 3> kNames = {"met", "failed", "unknown"};
  return kNames[static_cast<std::size_t>(standing)];
}

Standing at_most(const std::optional<Known>& known, double limit) {
  if (!known) return Standing::unknown;
  // Budgets are written with a few digits: 4.42 s over 400 patches must not fail by a rounding error.
  const double slack = std::abs(limit) * 1e-12;
  if (known->high <= limit + slack) return Standing::met;
  return known->low > limit ? Standing::failed : Standing::unknown;
}

Standing at_least(const std::optional<Known>& known, double limit) {
  if (!known) return Standing::unknown;
  if (known->low >= limit) return Standing::met;
  return known->high < limit ? Standing::failed : Standing::unknown;
}

}  // namespace plimsoll::plan
