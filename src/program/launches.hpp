#pragma once
#include <cstdint>
#include <vector>

#include "network/setting.hpp"
#include "program/program.hpp"

namespace plimsoll::program {

/// A kernel that runs.
struct Launch {
  std::uint32_t kernel = 0;  ///< in Program::kernels
  std::uint32_t op = 0;      ///< in the main graph's operators; kLossCall, kOptimizerCall
  Phase phase = Phase::forward;
  bool sums_gradients = false;
  bool recomputed = false;  ///< in the backward pass once more, since its results were not kept
  /// Passes of a step that run it. Those after the first are alike, and stand here once: a launch with more
  /// than one is followed by the rest of its pass, and all of that comes as many times.
  std::uint32_t passes = 1;
};

/// The kernels of one pass, or of one training step, in the order in which they run: all forward, then all
/// backward from the last call to the first, that as often as passes accumulate, then the optimizer's.
/// Segments between checkpoints run forward again before their backward pass.
[[nodiscard]] std::vector<Launch> launches(const Program& program, const network::Setting& setting);

}  // namespace plimsoll::program
