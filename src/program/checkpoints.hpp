#pragma once
#include <cstdint>
#include <vector>

#include "program/program.hpp"

namespace plimsoll::program {

/// Where to cut the forward pass for recomputation: about the square root of its layers' number of segments,
/// each saving about as much, cut where the least memory crosses. Calls that begin a segment, ascending.
[[nodiscard]] std::vector<std::uint32_t> checkpoints(const Program& program);

}  // namespace plimsoll::program
