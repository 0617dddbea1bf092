// Any bytes, taken for a chunk of points, must give points or one Error; and any points must come back from a
// chunk as they went in, to the bit.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "store/chunk.hpp"

namespace {

using plimsoll::store::Point;

/// Point's own == takes no NaN for equal.
bool same_bits(const std::vector<Point>& a, const std::vector<Point>& b) {
  static_assert(sizeof(Point) == 24, "no padding, so that bytes can be compared");
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(Point)) == 0);
}

void check_round_trip(const std::vector<Point>& points) {
  const auto again = plimsoll::store::decode_chunk(plimsoll::store::encode_chunk(points));
  if (!again || !same_bits(points, *again)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): libFuzzer hands bytes, a blob holds
  // characters
  const auto points = plimsoll::store::decode_chunk({reinterpret_cast<const char*>(data), size});
  if (points)
    check_round_trip(*points);
  else if (points.error().text().empty())
    std::abort();
  std::vector<Point> raw(size / sizeof(Point));
  if (!raw.empty()) std::memcpy(raw.data(), data, raw.size() * sizeof(Point));
  check_round_trip(raw);
  return 0;
}
