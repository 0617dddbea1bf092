#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "store/run.hpp"

namespace plimsoll::store {

/// Points of a chunk that stand side by side, in figures that can be added up.
struct Block {
  Time first = std::numeric_limits<Time>::max(), last = std::numeric_limits<Time>::min();
  std::int64_t first_step = std::numeric_limits<std::int64_t>::max(),
               last_step = std::numeric_limits<std::int64_t>::min();
  double minimum = std::numeric_limits<double>::infinity(),
         maximum = -std::numeric_limits<double>::infinity(), sum = 0;
  std::int64_t points = 0;
  std::int64_t numbers = 0;  ///< points that are numbers; minimum, maximum and sum are theirs
  Point opening = {};        ///< the first of them as they stand in the chunk
  friend bool operator==(const Block&, const Block&) = default;
};

void add(Block& block, const Point& point);
void add(Block& block, const Block& other);
[[nodiscard]] Span span_of(const Block& block);

/// One block for so many points: a chunk of 4096 has 32 blocks.
inline constexpr std::size_t kBlockPoints = 128;
[[nodiscard]] std::vector<Block> blocks_of(std::span<const Point> points);

/// Twelve numbers of 8 bytes each, least significant byte first, for each block.
[[nodiscard]] std::string encode_blocks(std::span<const Block> blocks);
[[nodiscard]] Result<std::vector<Block>> decode_blocks(std::string_view bytes);

}  // namespace plimsoll::store
