#include "base/printable.hpp"

#include <cstdint>

#include <fmt/format.h>

namespace plimsoll {
namespace {

/// Terminals act on control characters (C0, DEL, C1); direction marks make a text read as another one.
bool is_harmful(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x200E || code == 0x200F ||
         (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

/// Bytes of the UTF-8 character that `text` begins with, or 0 where it is broken or not to be shown.
std::size_t shown_length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t length = first < 0x80          ? 1
                             : (first >> 5U) == 6  ? 2
                             : (first >> 4U) == 14 ? 3
                             : (first >> 3U) == 30 ? 4
                                                   : 0;
  if (length == 0 || length > text.size()) return 0;
  std::uint32_t code = length == 1 ? first : first & (0x7FU >> length);
  for (const char c : text.substr(1, length - 1)) {
    const auto next = static_cast<unsigned char>(c);
    if ((next >> 6U) != 2) return 0;
    code = (code << 6U) | (next & 0x3FU);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool overlong = code < kLeast[length];
  const bool surrogate = code >= 0xD800 && code < 0xE000;
  return overlong || surrogate || code > 0x10FFFF || is_harmful(code) ? 0 : length;
}

}  // namespace

std::string printable(std::string_view text, std::size_t most) {
  std::string out;
  std::size_t used = 0;
  while (used < text.size()) {
    const std::size_t length = shown_length(text.substr(used));
    const std::size_t taken = length == 0 ? 1 : length;
    if (taken > most - used) return out + "…";
    if (length == 0)
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[used]));
    else
      out += text.substr(used, length);
    used += taken;
  }
  return out;
}

std::string quote(std::string_view name) {
  constexpr std::size_t kLongest = 120;
  return "'" + printable(name, kLongest) + "'";
}

}  // namespace plimsoll
