#include "serve/http/range.hpp"

#include <gtest/gtest.h>

namespace plimsoll::serve {
namespace {

void expect_range(std::string_view value, std::uint64_t bytes, ByteRange expected) {
  const auto range = parse_range(value, bytes);
  ASSERT_TRUE(std::holds_alternative<ByteRange>(range)) << value;
  EXPECT_EQ(std::get<ByteRange>(range), expected) << value;
}

TEST(ParseRange, TakesOneRange) {
  expect_range("bytes=0-0", 10, {0, 0});
  expect_range("bytes=2-5", 10, {2, 5});
  expect_range("Bytes=2-", 10, {2, 9});
  expect_range("bytes=2-99", 10, {2, 9});
  expect_range("bytes=-3", 10, {7, 9});
  expect_range("bytes=-30", 10, {0, 9});
  expect_range("bytes=0-18446744073709551615", 10, {0, 9});
}

TEST(ParseRange, TellsWhatCannotBeGiven) {
  for (const char* value : {"bytes=10-", "bytes=10-12", "bytes=-0"})
    EXPECT_TRUE(std::holds_alternative<NotSatisfiable>(parse_range(value, 10))) << value;
  EXPECT_TRUE(std::holds_alternative<NotSatisfiable>(parse_range("bytes=0-", 0)));
  EXPECT_TRUE(std::holds_alternative<NotSatisfiable>(parse_range("bytes=-1", 0)));
}

TEST(ParseRange, GivesTheWholeForAnythingElse) {
  for (const char* value :
       {"", "bytes", "bytes=", "bytes=-", "bytes=5-2", "bytes=0-1,3-4", "lines=0-1", "bytes=a-b",
        "bytes=0x1-2", "bytes=+1-2", "bytes= 1-2", "bytes=99999999999999999999-"})
    EXPECT_TRUE(std::holds_alternative<WholeFile>(parse_range(value, 10))) << value;
}

}  // namespace
}  // namespace plimsoll::serve
