#pragma once
#include <cstdint>
#include <vector>

#include "base/units.hpp"
#include "network/setting.hpp"
#include "program/program.hpp"

namespace plimsoll::estimate {

/// What one of several devices that train together keeps of the network all the time. Pure; docs/parallel.md
/// derives it. It never grows with ZeRO's stage, nor with the number of devices.
struct ModelState {
  Bytes weights, gradients, optimizer;
  [[nodiscard]] Bytes all() const { return weights + gradients + optimizer; }
};
[[nodiscard]] ModelState model_state(const program::Program& program, const network::Setting& setting);

inline constexpr std::uint32_t kNoLayer = 0xffffffff;

/// How a program's memory is divided over devices, and what passes between them needs.
struct ShardedProgram {
  network::Shares shares = {};
  std::int64_t buckets = 0;          ///< B kept all the time for sums of whole gradients
  std::vector<bool> parameter = {};  ///< by storage: divided where weights are
  std::vector<std::uint32_t> layer_of =
      {};  ///< by call, of what is gathered or reduced at once; else kNoLayer
  std::vector<std::int64_t> gathered =
      {};  ///< by layer: B of its weights, in the type in which they are read
  std::vector<std::int64_t> copied_from =
      {};  ///< by storage: B of a gathered weight that stands for it; else -1
};
[[nodiscard]] ShardedProgram shard(const program::Program& program, const network::Setting& setting);

}  // namespace plimsoll::estimate
