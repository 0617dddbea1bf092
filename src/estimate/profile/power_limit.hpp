#pragma once
#include <vector>

#include "estimate/profile/profile.hpp"
#include "program/program.hpp"

namespace plimsoll::estimate {

/// Operators are timed in bursts of some milliseconds. Matrix units that are busy for longer draw more than
/// the board may, and the clock falls: products take longer in a pass that is repeated than each by itself.
/// How much follows from the calibration: what the units reach in a burst over what they sustain, and how
/// busy the network keeps them and the memory (docs/time.md). Nothing happens where that is not known.
void hold_to_power_limit(const program::Program& program, const Target& target,
                         std::vector<ProfiledKernel>& kernels);

/// By how much all of a pass takes longer. `compute` and `memory`: the shares of time that work would take at
/// a burst's best rates; `fully`: the same where nothing but products runs.
[[nodiscard]] double slow_down(double compute, double memory, double fully);

}  // namespace plimsoll::estimate
