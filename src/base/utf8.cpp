#include "base/utf8.hpp"

#include <cstring>

namespace plimsoll {
namespace {

constexpr std::uint64_t kOnes = 0x0101010101010101U, kHighs = 0x8080808080808080U;

/// With the highest bit of each byte set where that byte is below `least`; true of words without high bits.
constexpr std::uint64_t below(std::uint64_t word, std::uint64_t least) {
  return (word - kOnes * least) & ~word & kHighs;
}

/// The same where a byte is `value`.
constexpr std::uint64_t equal(std::uint64_t word, std::uint64_t value) {
  return below(word ^ (kOnes * value), 1);
}

bool is_plain_word(std::uint64_t word) {
  return ((word & kHighs) | below(word, 0x20) | equal(word, '"') | equal(word, '\\') | equal(word, 0x7F)) ==
         0;
}

bool is_plain_byte(char c) {
  return c >= 0x20 && c < 0x7F && c != '"' && c != '\\';
}

}  // namespace

Character first_character(std::string_view text) {
  if (text.empty()) return {};
  const auto first = static_cast<unsigned char>(text.front());
  if (first < 0x80) return {first, 1};
  const std::size_t length = (first >> 5U) == 6 ? 2 : (first >> 4U) == 14 ? 3 : (first >> 3U) == 30 ? 4 : 0;
  if (length == 0 || length > text.size()) return {};
  std::uint32_t code = first & (0x7FU >> length);
  for (const char c : text.substr(1, length - 1)) {
    const auto next = static_cast<unsigned char>(c);
    if ((next >> 6U) != 2) return {};
    code = (code << 6U) | (next & 0x3FU);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool overlong = code < kLeast[length], surrogate = code >= 0xD800 && code < 0xE000;
  if (overlong || surrogate || code > 0x10FFFF) return {};
  return {code, length};
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = first_character(text).length;
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string_view first_characters(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  std::size_t characters = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool begins = (static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80U;
    if (begins && ++characters > most) return text.substr(0, i);
  }
  return text;
}

bool is_plain(std::string_view text) {
  for (; text.size() >= sizeof(std::uint64_t); text.remove_prefix(sizeof(std::uint64_t))) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data(), sizeof word);
    if (!is_plain_word(word)) return false;
  }
  for (const char c : text)
    if (!is_plain_byte(c)) return false;
  return true;
}

}  // namespace plimsoll
