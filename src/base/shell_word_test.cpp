#include "base/shell_word.hpp"

#include <gtest/gtest.h>

#include "base/process.hpp"

namespace plimsoll {
namespace {

TEST(ShellWord, PlainWordsStayAsTheyAre) {
  EXPECT_EQ(shell_word("python3"), "python3");
  EXPECT_EQ(shell_word("/data/a-b_c.py"), "/data/a-b_c.py");
  EXPECT_EQ(shell_word("--lr=0.1"), "--lr=0.1");
}

TEST(ShellWord, WhatAShellWouldReadOtherwiseIsQuoted) {
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("A=b"), "'A=b'") << "as a first word it would set a variable";
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word("~"), "'~'");
}

TEST(ShellWord, AShellGivesBackTheSameBytes) {
  for (const std::string word : {"$(reboot)", "`x`", "a\nb", "'", "''\"\\", "*?[a]", "#", "!x", "{1,2}",
                                 "gr\xC3\xBC\xC3\x9F", "\xFF", "a;b&c|d<e>f", "-n"}) {
    const Result<ProcessOutput> done = run({.argv = {"sh", "-c", "printf '%s' " + shell_word(word)}});
    ASSERT_TRUE(done && done->succeeded()) << word;
    EXPECT_EQ(done->output, word);
  }
}

}  // namespace
}  // namespace plimsoll
