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
};

/// The kernels of one pass, or of one training step, in the order in which they run: all forward, then all
/// backward from the last call to the first, then the optimizer's.
[[nodiscard]] std::vector<Launch> launches(const Program& program, const network::Setting& setting);

}  // namespace plimsoll::program
