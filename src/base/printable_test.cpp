#include "base/printable.hpp"

#include <gtest/gtest.h>

namespace plimsoll {
namespace {

TEST(Printable, LeavesTextAlone) {
  EXPECT_EQ(printable(""), "");
  EXPECT_EQ(printable("/layer1/conv1 \\ 'x'"), "/layer1/conv1 \\ 'x'");
  EXPECT_EQ(printable("größe 層 🚢"), "größe 層 🚢");
}

TEST(Printable, EscapesWhatATerminalActsOn) {
  EXPECT_EQ(printable("\x1b[2J\n\x7f"), "\\x1b[2J\\x0a\\x7f");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b") << "C1: one-byte CSI";
  EXPECT_EQ(printable("\xe2\x80\xae"), "\\xe2\\x80\\xae") << "right-to-left override";
}

TEST(Printable, EscapesBrokenUtf8) {
  EXPECT_EQ(printable("\xff"), "\\xff");
  EXPECT_EQ(printable("\xc3"), "\\xc3") << "cut short";
  EXPECT_EQ(printable("\xc3 "), "\\xc3 ");
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf") << "overlong";
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "surrogate";
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "beyond Unicode";
}

TEST(Printable, CutsBetweenCharacters) {
  EXPECT_EQ(printable("abcdef", 6), "abcdef");
  EXPECT_EQ(printable("abcdef", 3), "abc…");
  EXPECT_EQ(printable("aé", 2), "a…");
  EXPECT_EQ(printable("\n\n", 1), "\\x0a…");
}

TEST(Quote, CutsAndEscapes) {
  EXPECT_EQ(quote("x\n"), "'x\\x0a'");
  EXPECT_EQ(quote(std::string(1000, 'x')), "'" + std::string(120, 'x') + "…'");
}

}  // namespace
}  // namespace plimsoll
