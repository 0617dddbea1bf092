#include "base/printable.hpp"

#include <cstdint>

#include <fmt/format.h>

#include "base/utf8.hpp"

namespace plimsoll {
namespace {

/// Terminals act on control characters (C0, DEL, C1); direction marks make a text read as another one.
bool is_harmful(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x200E || code == 0x200F ||
         (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

/// Bytes of the character that `text` begins with, or 0 where it is broken or not to be shown.
std::size_t shown_length(std::string_view text) {
  const Character character = first_character(text);
  return is_harmful(character.code) ? 0 : character.length;
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
