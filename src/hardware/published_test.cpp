#include "hardware/published.hpp"

#include <map>
#include <set>

#include <gmock/gmock.h>

namespace plimsoll::hardware {
namespace {

using ::testing::HasSubstr;

constexpr const char* kTitles =
    "collection,network,pair,precision,quantized_how,input,top1_percent,top5_percent,megabytes,milliseconds,"
    "on,source\n";

TEST(Published, TheTableThatIsBuiltInIsWhole) {
  const auto& all = built_in_published();
  ASSERT_TRUE(all) << all.error().text();
  std::map<std::string, std::set<std::string>> torchvision;
  for (const PublishedAccuracy& row : *all) {
    if (row.collection == "torchvision") torchvision[row.pair].insert(row.precision);
    EXPECT_EQ(row.seconds.has_value(), !row.on.empty()) << row.pair;
    EXPECT_FALSE(row.source.empty()) << row.pair;
  }
  EXPECT_EQ(torchvision.size(), 14U);
  for (const auto& [pair, precisions] : torchvision) EXPECT_EQ(precisions.size(), 2U) << pair;
}

TEST(Published, WhatIsWrongIsToldWithItsLine) {
  const auto refused = [](const std::string& row) {
    const auto read = parse_published(kTitles + row, "table");
    return read ? std::string("was read") : read.error().text();
  };
  EXPECT_THAT(refused("a,b,c,fp32,,224,70,60,1,,,s\n"), HasSubstr("line 2"));  // top 1 above top 5
  EXPECT_THAT(refused("a,b,c,fp99,,224,60,70,1,,,s\n"), HasSubstr("precision"));
  EXPECT_THAT(refused("a,b,c,fp32,,224,60,70,many,,,s\n"), HasSubstr("megabytes"));
  EXPECT_THAT(refused("a,b,c,fp32,,224,60,70,1,,,\n"), HasSubstr("source"));
  EXPECT_THAT(refused("a,b\n"), HasSubstr("twelve"));
  const auto read = parse_published(std::string(kTitles) + "a,b,c,int8,,,60,70,1.5,2,phone,s\n", "table");
  ASSERT_TRUE(read);
  EXPECT_DOUBLE_EQ(*read->front().bytes, 1.5e6);
  EXPECT_DOUBLE_EQ(*read->front().seconds, 0.002);
}

}  // namespace
}  // namespace plimsoll::hardware
