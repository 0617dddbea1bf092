#include "learn/target.hpp"

#include <gtest/gtest.h>

namespace plimsoll::learn {
namespace {

TEST(Target, IsReadWithItsDirection) {
  EXPECT_EQ(*parse_target("accuracy>=0.92"), (Target{"accuracy", Direction::at_least, 0.92}));
  EXPECT_EQ(*parse_target("val loss <= 1e-1"), (Target{"val loss", Direction::at_most, 0.1}));
}

TEST(Target, PlainEqualGoesByTheName) {
  EXPECT_EQ(parse_target("top1=93%")->direction, Direction::at_least);
  EXPECT_DOUBLE_EQ(parse_target("top1=93%")->value, 0.93);
  for (const char* falling : {"Loss=1", "eval/error=1", "perplexity=20"})
    EXPECT_EQ(parse_target(falling)->direction, Direction::at_most) << falling;
}

TEST(Target, RefusesWhatIsNone) {
  for (const char* wrong : {"", "accuracy", "=0.9", "accuracy>0.9", "accuracy>=", "accuracy>=high",
                            "accuracy>=nan", "accuracy>=1e999", "accuracy>=0.9x", "a>=%"})
    EXPECT_FALSE(parse_target(wrong)) << wrong;
}

TEST(Target, IsSaid) {
  EXPECT_EQ(target_text({"loss", Direction::at_most, 0.1}), "loss <= 0.1");
  EXPECT_EQ(clock_named("epochs"), Clock::epochs);
  EXPECT_EQ(clock_named("parsecs"), std::nullopt);
}

}  // namespace
}  // namespace plimsoll::learn
