#include "probe/operator_names.hpp"

#include <algorithm>

namespace plimsoll::probe {

job::OperatorCase engine_case(const hardware::OperatorCase& c) {
  const auto count = static_cast<std::ptrdiff_t>(hardware::extent_count(c.operator_class));
  return {.operator_class = std::string(name(c.operator_class)),
          .direction = std::string(name(c.direction)),
          .arithmetic = std::string(name(c.arithmetic)),
          .extents = {c.extents.begin(), c.extents.begin() + count}};
}

std::optional<hardware::OperatorCase> calibration_case(const job::OperatorCase& c) {
  const auto operator_class = hardware::operator_class_named(c.operator_class);
  const auto direction = hardware::direction_named(c.direction);
  const auto arithmetic = hardware::arithmetic_named(c.arithmetic);
  if (!operator_class || !direction || !arithmetic) return std::nullopt;
  if (c.extents.size() != hardware::extent_count(*operator_class)) return std::nullopt;
  hardware::OperatorCase out{*operator_class, *direction, *arithmetic, {}};
  std::ranges::copy(c.extents, out.extents.begin());
  return completed(out);
}

}  // namespace plimsoll::probe
