#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "store/run.hpp"

namespace plimsoll::store {

/// Points in the largest chunk that the store writes: some 20 kB compressed, read in well under a
/// millisecond.
inline constexpr std::size_t kChunkPoints = 4096;

/// Points of one metric as bytes, in their order and exact to the bit, NaNs included. Layout in
/// docs/store.md.
[[nodiscard]] std::string encode_chunk(std::span<const Point> points);

/// The points again. Any bytes may come in: what no encoder wrote is an Error, and memory stays below
/// 16 MiB (65,536 points at most).
[[nodiscard]] Result<std::vector<Point>> decode_chunk(std::string_view bytes);

}  // namespace plimsoll::store
