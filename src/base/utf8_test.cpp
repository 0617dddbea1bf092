#include "base/utf8.hpp"

#include <string>

#include <gtest/gtest.h>

namespace plimsoll {
namespace {

TEST(Utf8, KnowsTheEdges) {
  EXPECT_TRUE(is_utf8("\u007F\u0080\u07FF\u0800\uFFFF\U00010000\U0010FFFF"));
  EXPECT_TRUE(is_utf8(""));
  for (const char* text : {"\xC1\xBF", "\xE0\x9F\xBF", "\xF0\x8F\xBF\xBF", "\xF5\x80\x80\x80", "\xE2\x82",
                           "\xC3x", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\x80", "a\xFF"})
    EXPECT_FALSE(is_utf8(text));
}

TEST(Utf8, FirstCharacterSaysItsCodeAndLength) {
  EXPECT_EQ(first_character("a…").code, 'a');
  EXPECT_EQ(first_character("…a").code, 0x2026U);
  EXPECT_EQ(first_character("…a").length, 3U);
  EXPECT_EQ(first_character("").length, 0U);
  EXPECT_EQ(first_character("\xE2\x80").length, 0U);
}

TEST(Utf8, FirstCharactersAreWhole) {
  EXPECT_EQ(first_characters("größe", 3), "grö");
  EXPECT_EQ(first_characters("größe", 4), "größ");
  EXPECT_EQ(first_characters("größe", 5), "größe");
  EXPECT_EQ(first_characters("größe", 9), "größe");
  EXPECT_EQ(first_characters("a", 0), "");
  EXPECT_EQ(first_characters("", 0), "");
}

/// Each byte at each place of texts of all lengths around a word.
TEST(Utf8, PlainTextIsAsciiThatNeedsNoEscape) {
  for (std::size_t length = 0; length < 20; ++length)
    for (std::size_t place = 0; place < length; ++place)
      for (int byte = 0; byte < 256; ++byte) {
        std::string text(length, 'x');
        text[place] = static_cast<char>(byte);
        const bool plain = byte >= 0x20 && byte < 0x7F && byte != '"' && byte != '\\';
        ASSERT_EQ(is_plain(text), plain) << length << ' ' << place << ' ' << byte;
      }
}

}  // namespace
}  // namespace plimsoll
