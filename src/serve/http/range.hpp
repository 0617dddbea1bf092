#pragma once
#include <cstdint>
#include <string_view>
#include <variant>

namespace plimsoll::serve {

struct ByteRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;  ///< inclusive
  bool operator==(const ByteRange&) const = default;
};
struct WholeFile {};       ///< no range, or one that is not understood: the file as a whole
struct NotSatisfiable {};  ///< begins behind the end: 416

/// The value of a header Range, "bytes=0-499", "bytes=500-" or "bytes=-500", of a file of `bytes`. Several
/// ranges at once are not offered, and answered by the whole.
[[nodiscard]] std::variant<WholeFile, ByteRange, NotSatisfiable> parse_range(std::string_view value,
                                                                             std::uint64_t bytes);

}  // namespace plimsoll::serve
