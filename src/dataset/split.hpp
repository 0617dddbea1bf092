#pragma once
#include <cstdint>
#include <vector>

namespace plimsoll::dataset {

/// The numbers from 0 to `count` - 1 in the order in which a round goes through them. The same for the same
/// seed and round, wherever and however often it is asked for.
[[nodiscard]] std::vector<std::int64_t> shuffled(std::int64_t count, std::uint64_t seed, std::uint64_t round);

/// Examples to learn from and examples held out, both in ascending order; none is in both.
struct Split {
  std::vector<std::int64_t> training, held_out;
};
/// `share` of the examples, rounded, is held out, drawn by the seed.
[[nodiscard]] Split split(std::int64_t count, double share, std::uint64_t seed);

/// So many of these examples, drawn by the seed, in ascending order; all of them where `most` is no fewer.
[[nodiscard]] std::vector<std::int64_t> some_of(std::vector<std::int64_t> examples, std::int64_t most,
                                                std::uint64_t seed);

}  // namespace plimsoll::dataset
