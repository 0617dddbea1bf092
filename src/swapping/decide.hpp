#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "swapping/policy.hpp"

namespace plimsoll::swapping {

/// Blocks that give way.
struct Eviction {
  std::size_t chunk = 0;
  std::int64_t blocks = 0;
  friend bool operator==(const Eviction&, const Eviction&) = default;
};

/// A copy from the host: first what gives way to it, each as soon as the last layer that was decided on and
/// needs it has computed.
struct Load {
  std::size_t layer = 0;  ///< of the model that runs: it computes when all loads up to its own are there
  std::size_t chunk = 0;
  std::int64_t blocks = 0;
  std::vector<Eviction> evictions = {};
  friend bool operator==(const Load&, const Load&) = default;
};

/// What a run moves, in the order in which it is to be moved, and what is held when it has been.
struct Decision {
  std::vector<Load> loads;
  Memory after;
  [[nodiscard]] std::int64_t moved() const;  ///< blocks
};

/// Which weights come and which go so that a model can run. Pure: what simulates and what runs networks do
/// what it says in that order. Whoever does not go through with it (a frame that would be late) keeps the
/// memory as it was. The capacity is at least least_capacity().
[[nodiscard]] Decision decide(const Packed& packed, const Policy& policy, Memory before, std::size_t model,
                              const Outlook& outlook);

/// Blocks below which the policy cannot run all models: the largest model's, or the largest layer's.
[[nodiscard]] std::int64_t least_capacity(const Packed& packed, const Policy& policy);

}  // namespace plimsoll::swapping
