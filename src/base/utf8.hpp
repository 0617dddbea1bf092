#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace plimsoll {

struct Character {
  std::uint32_t code = 0;
  std::size_t length = 0;  ///< bytes; 0 where there is none
};

/// The character that `text` begins with; none where it is empty or its bytes are no UTF-8.
[[nodiscard]] Character first_character(std::string_view text);

/// No overlong forms, no surrogates, nothing beyond U+10FFFF.
[[nodiscard]] bool is_utf8(std::string_view text);

/// The first `most` characters of UTF-8 text, or all of it.
[[nodiscard]] std::string_view first_characters(std::string_view text, std::size_t most);

/// Whether all of it is ASCII that can be shown, without quotation mark and backslash: as most texts are, and
/// as JSON takes them.
[[nodiscard]] bool is_plain(std::string_view text);

}  // namespace plimsoll
