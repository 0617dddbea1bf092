#include "run/metric_line.hpp"

#include <cmath>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::running {
namespace {

using testing::HasSubstr;

TEST(MetricLine, IsPickedFromALineOfOutput) {
  EXPECT_EQ(statement_in("plimsoll: metric loss 0.12 step 40"),
            Statement(MetricLine{"loss", 0.12, 40, std::nullopt}));
  EXPECT_EQ(statement_in("plimsoll: metric val/acc -1e-3 epoch 2 step 7\r"),
            Statement(MetricLine{"val/acc", -1e-3, 7, 2}));
  EXPECT_EQ(statement_in("plimsoll: epoch 3"), Statement(EpochLine{3}));
  EXPECT_EQ(statement_in("plimsoll: param lr a value with spaces "),
            Statement(ParamLine{"lr", "a value with spaces"}));
  EXPECT_EQ(statement_in("plimsoll: artifact out/model 1.pt"), Statement(ArtifactLine{"out/model 1.pt"}));
  EXPECT_EQ(statement_in("plimsoll: saved step 400\r"), Statement(SavedLine{"step 400"}));
  EXPECT_EQ(statement_in("plimsoll: saved"), Statement(SavedLine{""}));
  EXPECT_EQ(statement_in("plimsoll: savedstep 400"), std::nullopt);
}

TEST(MetricLine, KeepsWhatTrainingsReallyPrint) {
  const auto nan = statement_in("plimsoll: metric loss nan step 1");
  ASSERT_TRUE(nan);
  EXPECT_TRUE(std::isnan(std::get<MetricLine>(*nan).value));
  const auto infinite = statement_in("plimsoll: metric loss -inf");
  ASSERT_TRUE(infinite);
  EXPECT_TRUE(std::isinf(std::get<MetricLine>(*infinite).value));
  EXPECT_EQ(statement_in("plimsoll: metric loss 1e-999"),
            Statement(MetricLine{"loss", 0, std::nullopt, std::nullopt}));
}

/// A finite number that none of ours can hold is not infinity, and does not vanish.
TEST(MetricLine, TellsOfAValueThatCannotBeKept) {
  for (const char* value : {"1e400", "-1e999", "1,5", "0x10", "", "12abc"}) {
    const std::string line = fmt::format("plimsoll: metric loss {}", value);
    EXPECT_EQ(statement_in(line), std::nullopt) << line;
    EXPECT_THAT(unreadable_metric(line), testing::Optional(HasSubstr(fmt::format("'{}'", value)))) << line;
  }
  EXPECT_THAT(unreadable_metric("plimsoll: metric loss 1e400"), testing::Optional(HasSubstr("too large")));
  EXPECT_EQ(unreadable_metric("plimsoll: metric loss 1 step 3"), std::nullopt);
  EXPECT_EQ(unreadable_metric("plimsoll: dance 3"), std::nullopt);
  EXPECT_EQ(unreadable_metric("INFO plimsoll: metric loss 1e400"), std::nullopt);
  EXPECT_FALSE(parse_statement("metric loss 1e400")) << "nor by the socket";
}

/// What a program prints of its data is not what it says.
TEST(MetricLine, IsNoStatementFurtherOnInALine) {
  for (const char* line :
       {"12:00:01 INFO plimsoll: metric loss 1", " plimsoll: metric loss 1", "\tplimsoll: artifact x",
        "sample 7: plimsoll: artifact /home/me/.ssh/id_rsa", "50%\rplimsoll: artifact x",
        "\"plimsoll: param lr 1", "\xEF\xBB\xBFplimsoll: metric loss 1", "Plimsoll: metric loss 1"})
    EXPECT_EQ(statement_in(line), std::nullopt) << line;
}

TEST(MetricLine, LeavesOtherOutputAlone) {
  for (const char* line :
       {"", "loss 0.1", "plimsoll: metric loss", "plimsoll: metric loss 1,5", "plimsoll: metric",
        "plimsoll: metric system/gpu/0/power 3", "plimsoll: metric loss 1 step x",
        "plimsoll: metric loss 1 lap 4", "plimsoll: epoch", "plimsoll: dance 3",
        "plimsoll: metric lo\x1bss 1", "plimsoll: metric loss 0x10"})
    EXPECT_EQ(statement_in(line), std::nullopt) << line;
  EXPECT_EQ(statement_in("plimsoll: metric " + std::string(300, 'a') + " 1"), std::nullopt);
}

TEST(MetricPattern, FindsValuesByTheUsersOwnForm) {
  const auto pattern = MetricPattern::make(R"(loss=step (?P<step>\d+).*loss: ([-+0-9.eE]+|nan))");
  ASSERT_TRUE(pattern) << pattern.error().text();
  EXPECT_EQ(pattern->match("step 12 loss: 0.5"), (MetricLine{"loss", 0.5, 12, std::nullopt}));
  const auto named = MetricPattern::make(R"((?P<name>acc|loss)=(?P<value>[0-9.]+)(?: @(?P<epoch>\d+))?)");
  ASSERT_TRUE(named) << named.error().text();
  EXPECT_EQ(named->match("x acc=0.91 @3"), (MetricLine{"acc", 0.91, std::nullopt, 3}));
  EXPECT_EQ(named->match("x loss=0.2"), (MetricLine{"loss", 0.2, std::nullopt, std::nullopt}));
  EXPECT_EQ(named->match("nothing"), std::nullopt);
}

TEST(MetricPattern, SaysWhatIsWrongWithIt) {
  const auto broken = MetricPattern::make("loss=([0-9");
  ASSERT_FALSE(broken);
  EXPECT_THAT(broken.error().text(), HasSubstr("not a regular expression"));
  const auto unnamed = MetricPattern::make("([0-9]+)");
  ASSERT_FALSE(unnamed);
  EXPECT_THAT(unnamed.error().hint, HasSubstr("NAME=EXPRESSION"));
  EXPECT_FALSE(MetricPattern::make("loss=abc"));
}

}  // namespace
}  // namespace plimsoll::running
