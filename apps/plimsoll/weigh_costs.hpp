#pragma once
#include "base/error.hpp"
#include "report/weighing.hpp"
#include "weigh_options.hpp"

namespace plimsoll {

/// What costs are told for: an epoch of --dataset-size, else a thousand steps; a million inferences.
[[nodiscard]] Result<report::WeighedWork> weighed_work(const WeighOptions& options,
                                                       const report::Weighing& weighing);

/// Adds to every device that somebody rents out by the hour what that work costs there, and what it takes of
/// the country's grid.
[[nodiscard]] Status add_costs(report::Weighing& weighing, const std::string& country);

}  // namespace plimsoll
