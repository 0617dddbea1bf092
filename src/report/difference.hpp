#pragma once
#include <nlohmann/json_fwd.hpp>

#include "report/inspection.hpp"
#include "report/table.hpp"

namespace plimsoll::report {

/// What differs between two models: totals, by operator kind, and by layer (matched by name and kind).
[[nodiscard]] Table difference_table(const Inspection& a, const Inspection& b);
[[nodiscard]] Table kind_difference(const Inspection& a, const Inspection& b);
[[nodiscard]] Table layer_difference(const Inspection& a, const Inspection& b);
[[nodiscard]] nlohmann::ordered_json difference_json(const Inspection& a, const Inspection& b);

}  // namespace plimsoll::report
