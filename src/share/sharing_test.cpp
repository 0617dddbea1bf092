#include "share/sharing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::share {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ReadSharing, TakesWhatItWrites) {
  for (const char* words : {"naive", "exclusive", "mps", "mps:75,25", "mps:12.5,87.5", "mig:3g.71gb,4g.71gb",
                            "mig+mps:4g.71gb"}) {
    const auto read = read_sharing(words, 2);
    ASSERT_TRUE(read) << words;
    EXPECT_EQ(text(*read), words);
  }
  EXPECT_THAT(read_sharing("mps:75,25", 2)->caps, ElementsAre(0.75, 0.25));
}

TEST(ReadSharing, SaysWhatIsWrong) {
  EXPECT_THAT(read_sharing("mps:75", 2).error().message, HasSubstr("has 1 parts for 2 workloads"));
  EXPECT_THAT(read_sharing("mps:0,100", 2).error().message, HasSubstr("no percentage"));
  EXPECT_THAT(read_sharing("mps:101,1", 2).error().message, HasSubstr("no percentage"));
  EXPECT_THAT(read_sharing("mps:nan,1", 2).error().message, HasSubstr("no percentage"));
  EXPECT_THAT(read_sharing("mps:", 1).error().message, HasSubstr("no percentage"));
  EXPECT_THAT(read_sharing("mig+mps:3g.71gb,4g.71gb", 2).error().message, HasSubstr("no sharing"));
  EXPECT_THAT(read_sharing("mig+mps", 2).error().message, HasSubstr("no sharing"));
  EXPECT_THAT(read_sharing("mig", 1).error().message, HasSubstr("no sharing"));
  EXPECT_THAT(read_sharing("slices", 1).error().hint, HasSubstr("mps:75,25"));
}

}  // namespace
}  // namespace plimsoll::share
