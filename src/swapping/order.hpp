#pragma once
#include <cstddef>
#include <vector>

#include "swapping/models.hpp"

namespace plimsoll::swapping {

inline constexpr std::size_t kMostOrderedExactly = 15;

/// A round of all models, from the first one on.
struct Round {
  std::vector<std::size_t> order;
  std::int64_t blocks = 0;  ///< that each model adds to the one before it, over the whole round
  bool exact = true;        ///< no other round adds fewer
};

/// Blocks of `to` that `from` does not have.
[[nodiscard]] std::int64_t blocks_added(const Packed& packed, std::size_t from, std::size_t to);

/// The round in which models add the fewest blocks to the one before them: what is moved where no more than
/// one has room. Of equals that which is nearest to the given order. By Held and Karp (A dynamic programming
/// approach to sequencing problems, 1962) for up to kMostOrderedExactly models; beyond that each is followed
/// by the one that adds least.
[[nodiscard]] Round best_round(const Packed& packed);

/// What the models' own order adds.
[[nodiscard]] Round given_round(const Packed& packed);

}  // namespace plimsoll::swapping
