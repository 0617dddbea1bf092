#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace plimsoll::estimate {

/// The most batches that a list may name, and the largest of them.
inline constexpr std::size_t kMostBatches = 4096;
inline constexpr std::int64_t kLargestBatch = std::int64_t{1} << 20;

/// Batches as a person writes them: "8", "1..256" (every one), "1..256x2" (1, 2, 4 … 256), or several of
/// these with commas between. Ascending, each once, never empty.
[[nodiscard]] Result<std::vector<std::int64_t>> parse_batches(std::string_view text);

}  // namespace plimsoll::estimate
