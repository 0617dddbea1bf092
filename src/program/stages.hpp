#pragma once
#include <cstdint>
#include <vector>

#include "program/program.hpp"

namespace plimsoll::program {

/// Where a network can be cut into stages of consecutive calls: before each layer but the first. Ascending.
[[nodiscard]] std::vector<std::uint32_t> cuts_between_layers(const Program& program);

/// What passes between two stages that are cut before `call`: activations that later calls read.
struct Crossing {
  std::vector<StorageId> storages;
  std::int64_t bytes = 0;           ///< forward
  std::int64_t gradient_bytes = 0;  ///< and back: of those that need a gradient
};
[[nodiscard]] Crossing crossing(const Program& program, std::uint32_t call);

/// The calls from `first` up to and without `end` as a program by itself: only their weights, what comes from
/// the stage before as inputs, and a gradient for what goes to the next.
[[nodiscard]] Program stage(const Program& whole, std::uint32_t first, std::uint32_t end);

/// Cuts for `stages` stages so that the largest sum of `costs`, one for each call, is as small as cuts allow.
/// The first call of every stage, beginning with 0; fewer where there are not as many cuts.
[[nodiscard]] std::vector<std::uint32_t> balanced_stages(const Program& program,
                                                         const std::vector<double>& costs,
                                                         std::int64_t stages);

}  // namespace plimsoll::program
