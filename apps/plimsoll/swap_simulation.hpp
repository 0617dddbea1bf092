#pragma once
#include "base/error.hpp"
#include "swap_ground.hpp"

namespace plimsoll {

/// Reads, weighs the models on the device and simulates every policy.
[[nodiscard]] Result<SwapGround> simulate_swapping(const SwapOptions& options);

}  // namespace plimsoll
