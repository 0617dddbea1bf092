#include "store/postgres_text.hpp"

#include <cstddef>

#include "base/utf8.hpp"

namespace plimsoll::store {
namespace {

unsigned byte_at(std::string_view text, std::size_t at) {
  return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U;
}

bool continues(std::string_view text, std::size_t at) {
  return (byte_at(text, at) >> 6U) == 2U;
}

/// One of the characters U+10FF00 … U+10FFFF.
bool is_stand_in(std::string_view text) {
  return byte_at(text, 0) == 0xF4 && byte_at(text, 1) == 0x8F && byte_at(text, 2) >= 0xBC &&
         byte_at(text, 2) <= 0xBF && continues(text, 3);
}

/// Bytes of the character at the front as PostgreSQL takes it; 0 where it does not.
std::size_t length_of_character(std::string_view text) {
  const Character character = first_character(text);
  return character.code == 0 ? 0 : character.length;
}

void append_stand_in(std::string& out, unsigned byte) {
  out += "\xF4\x8F";
  out += static_cast<char>(0xBCU + (byte >> 6U));
  out += static_cast<char>(0x80U + (byte & 0x3FU));
}

}  // namespace

bool fits_postgres(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const std::string_view rest = text.substr(i);
    const std::size_t length = length_of_character(rest);
    if (length == 0 || is_stand_in(rest)) return false;
    i += length;
  }
  return true;
}

std::string to_postgres(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const std::string_view rest = text.substr(i);
    const std::size_t length = length_of_character(rest);
    if (length == 0 || is_stand_in(rest)) {
      append_stand_in(out, byte_at(rest, 0));
      ++i;
    } else {
      out += rest.substr(0, length);
      i += length;
    }
  }
  return out;
}

std::string from_postgres(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const std::string_view rest = text.substr(i);
    if (is_stand_in(rest)) {
      out += static_cast<char>(((byte_at(rest, 2) - 0xBCU) << 6U) | (byte_at(rest, 3) & 0x3FU));
      i += 4;
    } else {
      out += text[i++];
    }
  }
  return out;
}

}  // namespace plimsoll::store
