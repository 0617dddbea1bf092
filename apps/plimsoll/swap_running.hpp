#pragma once
#include <string>

#include "base/error.hpp"
#include "swap_ground.hpp"

namespace plimsoll {

/// Where --run runs: "cpu" or "cuda:N", for a word of this machine. Anything else cannot run.
[[nodiscard]] Result<std::string> swap_engine_device(const std::string& word);

/// How running ended, beside what it adds to the report.
enum class SwapEnd : std::uint8_t { done, does_not_fit, interrupted };

/// Runs in plimsoll-engine, in a fresh process for each, what was simulated: every policy that was asked for
/// by name, else the best one. Adds what happened to the ground's report.
[[nodiscard]] Result<SwapEnd> run_swapping(const SwapOptions& options, SwapGround& ground);

}  // namespace plimsoll
