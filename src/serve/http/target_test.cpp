#include "serve/http/target.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::serve {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

TEST(PercentDecode, DecodesEachEscapeOnce) {
  EXPECT_EQ(percent_decode("a%2Fb%20c"), "a/b c");
  EXPECT_EQ(percent_decode("%252e"), "%2e");
  EXPECT_EQ(percent_decode("%C3%a6"), "æ");
  EXPECT_EQ(percent_decode("a+b"), "a+b");
  EXPECT_EQ(percent_decode("a+b%2B", true), "a b+");
  EXPECT_EQ(percent_decode(""), "");
}

TEST(PercentDecode, RefusesWhatIsBroken) {
  for (const char* text : {"%", "%4", "a%", "%zz", "%4g", "%%41"}) EXPECT_FALSE(percent_decode(text)) << text;
  EXPECT_THAT(percent_decode("a%00b").error().message, HasSubstr("NUL"));
  for (const char* text : {"%ff", "%C0%AF", "%ED%A0%80", "%F4%90%80%80", "%C3", "%80"})
    EXPECT_THAT(percent_decode(text).error().message, HasSubstr("UTF-8")) << text;
}

TEST(PercentEncode, ComesBack) {
  EXPECT_EQ(percent_encode("/run/a b.sock"), "%2Frun%2Fa%20b.sock");
  std::string every;
  for (int i = 1; i < 128; ++i) every += static_cast<char>(i);
  EXPECT_EQ(percent_decode(percent_encode(every + "æøå€😀")), every + "æøå€😀");
}

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
