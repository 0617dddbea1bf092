#include "run/toml_document.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::running {
namespace {

TEST(TomlAsJson, KeepsTypesAndLists) {
  const auto json = toml_as_json("[[workload]]\nmodel = \"resnet50\"\nbatch = 32\ncaptured = true\n");
  ASSERT_TRUE(json);
  std::string plain;
  for (const char c : *json)
    if (c != ' ' && c != '\n' && c != '\t') plain += c;
  EXPECT_EQ(plain, R"({"workload":[{"batch":32,"captured":true,"model":"resnet50"}]})");
}

TEST(TomlAsJson, LettersBeyondAsciiStandInQuotes) {
  EXPECT_TRUE(toml_as_json("a = \"\xef\xbb\xb7\"  # \xc3\xa9\n"));
  const auto outside = toml_as_json("a = 1\nsec-\xef\xbb\xb7 = 2\n");
  ASSERT_FALSE(outside);
  EXPECT_THAT(outside.error().text(), testing::HasSubstr("beyond ASCII"));
  EXPECT_THAT(outside.error().where, testing::HasSubstr("line 2"));
}

TEST(TomlAsJson, NamesTheLine) {
  const auto broken = toml_as_json("a = 1\nb = \n");
  ASSERT_FALSE(broken);
  EXPECT_THAT(broken.error().where, testing::HasSubstr("line 2"));
}

}  // namespace
}  // namespace plimsoll::running
