#pragma once
#include <span>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "estimate/cost.hpp"
#include "estimate/parallel.hpp"
#include "report/table.hpp"

namespace plimsoll::report {

/// One row per number of devices; columns of what never happens are left out.
[[nodiscard]] Table scaling_table(std::span<const estimate::ParallelStep> rows);
/// What those of its columns mean that do not say so themselves.
[[nodiscard]] std::string scaling_notes(const Table& table);
[[nodiscard]] nlohmann::ordered_json scaling_json(std::span<const estimate::ParallelStep> rows);

/// What a TFLOP/s costs, one row per offer, one column per arithmetic that any of them has.
[[nodiscard]] Table money_per_rate_table(std::span<const estimate::MoneyPerRate> rows);
[[nodiscard]] nlohmann::ordered_json money_per_rate_json(std::span<const estimate::MoneyPerRate> rows);

}  // namespace plimsoll::report
