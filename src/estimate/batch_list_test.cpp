#include "estimate/batch_list.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::estimate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::int64_t> batches(std::string_view text) {
  const Result<std::vector<std::int64_t>> parsed = parse_batches(text);
  EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().text());
  return parsed.value_or(std::vector<std::int64_t>{});
}

std::string refused(std::string_view text) {
  const Result<std::vector<std::int64_t>> parsed = parse_batches(text);
  return parsed ? "accepted" : parsed.error().message;
}

TEST(BatchList, OneEveryByFactorAndLists) {
  EXPECT_THAT(batches("7"), ElementsAre(7));
  EXPECT_THAT(batches("3..6"), ElementsAre(3, 4, 5, 6));
  EXPECT_THAT(batches("5..5"), ElementsAre(5));
  EXPECT_THAT(batches("1..20x2"), ElementsAre(1, 2, 4, 8, 16));
  EXPECT_THAT(batches("3..100x4"), ElementsAre(3, 12, 48));
  EXPECT_THAT(batches("64,1..4,8,2"), ElementsAre(1, 2, 3, 4, 8, 64));
  EXPECT_EQ(batches("1..256").size(), 256u);
  EXPECT_EQ(batches("1..1048576x2").size(), 21u);
}

TEST(BatchList, WhatIsNoBatchIsRefusedByName) {
  for (const char* text : {"", ",", "1,", "a", "1..", "..8", "1...8", "1.5", " 1", "+1", "1..8..9", "8x2",
                           "0x2", "1..8x2x2", "99999999999999999999", "1..99999999999999999999"})
    EXPECT_NE(refused(text), "accepted") << text;
  EXPECT_THAT(refused("1..8,two"), HasSubstr("\"two\""));
  EXPECT_THAT(refused("\x1b[31m"), ::testing::Not(HasSubstr("\x1b")));
}

TEST(BatchList, RangesAreBounded) {
  EXPECT_THAT(refused("0..8"), HasSubstr("below a batch of 1"));
  EXPECT_THAT(refused("-4..8"), HasSubstr("below a batch of 1"));
  EXPECT_THAT(refused("8..1"), HasSubstr("ends before it begins"));
  EXPECT_THAT(refused("1..2000000"), HasSubstr("beyond a batch of 1048576"));
  EXPECT_THAT(refused("1..9223372036854775807"), HasSubstr("beyond"));
  EXPECT_THAT(refused("1..4097"), HasSubstr("more than 4096"));
  EXPECT_THAT(refused("1..4096,1"), HasSubstr("more than 4096"));
  EXPECT_EQ(batches("1..4096").size(), kMostBatches);
  for (const char* text : {"1..8x1", "1..8x0", "1..8x-2", "1..8x", "1..8x99999999999999999999"})
    EXPECT_THAT(refused(text), HasSubstr("factor")) << text;
  EXPECT_THAT(batches("1..8x9223372036854775807"), ElementsAre(1));
}

}  // namespace
}  // namespace plimsoll::estimate
