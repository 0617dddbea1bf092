#pragma once
#include <filesystem>

#include "base/error.hpp"
#include "report/weighing.hpp"
#include "weigh_options.hpp"

namespace plimsoll {

/// Whether an engine is there to measure with.
[[nodiscard]] bool has_engine();

/// The engine for what of this page can be measured. bad_input: none of it is of this machine; machine_lacks:
/// there is no engine, and how to get one.
[[nodiscard]] Result<std::filesystem::path> engine_for(const report::Weighing& weighing);

/// Runs the network on every device of this machine that has a part of the page for itself, and puts what was
/// measured beside the estimate. What goes wrong in the engine is part of the row. 0, or the signal by which
/// it was interrupted.
[[nodiscard]] Result<int> measure_here(report::Weighing& weighing, const WeighOptions& options,
                                       const std::filesystem::path& engine);

}  // namespace plimsoll
