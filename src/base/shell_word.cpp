#include "base/shell_word.hpp"

#include <algorithm>

namespace plimsoll {
namespace {

/// Letters that mean nothing to a shell, wherever they stand. Not '~', which does at the beginning.
bool is_plain_in_a_shell(char c) {
  constexpr std::string_view kSigns = "_@%+:,./-";
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || kSigns.contains(c);
}

}  // namespace

std::string shell_word(std::string_view text) {
  // A first word with '=' would set a variable; in others it is plain, and people read it easier so.
  const bool plain =
      !text.empty() && std::ranges::all_of(text, [](char c) { return c == '=' || is_plain_in_a_shell(c); });
  if (plain && (text.front() == '-' || !text.contains('='))) return std::string(text);
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'')
      out += "'\\''";
    else
      out += c;
  }
  return out + "'";
}

}  // namespace plimsoll
