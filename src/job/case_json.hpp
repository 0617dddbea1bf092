#pragma once
#include "job/fields.hpp"
#include "job/operator_case.hpp"

namespace plimsoll::job {

/// The largest extent of an operator that is asked for: products of a few of them must not overflow.
inline constexpr std::int64_t kMostExtent = std::int64_t{1} << 40;

[[nodiscard]] inline Json case_json(const OperatorCase& c) {
  return {{"class", text_json(c.operator_class)},
          {"direction", text_json(c.direction)},
          {"arithmetic", text_json(c.arithmetic)},
          {"extents", c.extents}};
}
[[nodiscard]] inline OperatorCase read_case(const Fields& fields) {
  return {fields.text("class"), fields.text("direction"), fields.text("arithmetic"),
          fields.wholes("extents", 0, kMostExtent)};
}

}  // namespace plimsoll::job
