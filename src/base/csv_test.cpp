#include "base/csv.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Csv, QuotesNewlinesAndCarriageReturnsAreRead) {
  const auto rows = read_csv(
      "\xEF\xBB\xBF"
      "a,b\r\n\n\"x,\"\"y\"\"\n2\",\n");
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 2U);
  EXPECT_THAT((*rows)[0].cells, ElementsAre("a", "b"));
  EXPECT_THAT((*rows)[1].cells, ElementsAre("x,\"y\"\n2", ""));
  EXPECT_EQ((*rows)[1].line, 3U);
}

TEST(Csv, WhatIsWrittenIsReadAgain) {
  const std::vector<CsvRow> rows = {{{"a", " b ", "c\"d", "e,f", "g\nh"}, 1}};
  const auto again = read_csv(write_csv(rows));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->front().cells, rows.front().cells);
}

TEST(Csv, AnOpenQuoteIsAnError) {
  EXPECT_THAT(read_csv("a\n\"b").error().message, HasSubstr("line 2"));
}

}  // namespace
}  // namespace plimsoll
