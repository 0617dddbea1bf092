#include "base/percent.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll {
namespace {

using testing::HasSubstr;

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

}  // namespace
}  // namespace plimsoll
