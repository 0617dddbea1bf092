#include "serve/http/target.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::serve {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

TEST(ParseQuery, KeepsOrderAndRepeatedNames) {
  const auto query = parse_query("run_ids=a&x&run_ids=b+c&=1&empty=&&eq=a=b&%C3%A6=%26");
  ASSERT_TRUE(query);
  EXPECT_THAT(*query, ElementsAre(Pair("run_ids", "a"), Pair("x", ""), Pair("run_ids", "b c"), Pair("", "1"),
                                  Pair("empty", ""), Pair("eq", "a=b"), Pair("æ", "&")));
  EXPECT_THAT(query->all("run_ids"), ElementsAre("a", "b c"));
  EXPECT_EQ(query->find("nobody"), nullptr);
  EXPECT_FALSE(parse_query("ok=1&bad=%x"));
  EXPECT_FALSE(parse_query("%x=1"));
}

TEST(ParseTarget, TakesOriginAndAbsoluteForms) {
  const auto plain = parse_target("/a%20b/c?q=1");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->path, "/a b/c");
  EXPECT_EQ(*plain->query.find("q"), "1");
  EXPECT_EQ(plain->host, "");
  const auto absolute = parse_target("HTTP://example.org:80?q=2");
  ASSERT_TRUE(absolute);
  EXPECT_EQ(absolute->path, "/");
  EXPECT_EQ(absolute->host, "example.org:80");
  EXPECT_EQ(parse_target("//evil/x")->path, "//evil/x");
  for (const char* text : {"", "*", "a", "example.org:443", "ftp://x/", "http", "https", "http:/", "http://",
                           "http:///x", "/a#b", "/%"})
    EXPECT_FALSE(parse_target(text)) << text;
}

}  // namespace
}  // namespace plimsoll::serve
