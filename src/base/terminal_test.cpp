#include "base/terminal.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace plimsoll {
namespace {

TEST(Terminal, ThatIsOneHasColorAndItsWindowsWidth) {
  EXPECT_EQ(describe_terminal(true, 132, ColorChoice::automatic, {.term = "xterm"}),
            (Terminal{.interactive = true, .color = true, .width = 132}));
}

TEST(Terminal, ThatIsAFileHasNoColorAndTheUsualWidth) {
  EXPECT_EQ(describe_terminal(false, {}, ColorChoice::automatic, {.term = "xterm"}), Terminal{.width = 80});
}

TEST(Terminal, ObeysColumnsOnlyWhereItIsANumber) {
  EXPECT_EQ(describe_terminal(true, 132, ColorChoice::never, {.columns = "100"}).width, 100);
  EXPECT_EQ(describe_terminal(false, {}, ColorChoice::never, {.columns = "100"}).width, 100);
  for (const char* nonsense : {"", "0", "-3", "10x", "99999999999999999999"})
    EXPECT_EQ(describe_terminal(true, 132, ColorChoice::never, {.columns = nonsense}).width, 132) << nonsense;
}

TEST(Terminal, ThatDoesNotSayIsEightyWide) {
  EXPECT_EQ(describe_terminal(true, {}, ColorChoice::never, {}).width, 80);
}

TEST(Terminal, ColorFollowsTheOptionThenNoColorThenTerm) {
  const auto color = [](bool interactive, ColorChoice choice, TerminalVariables variables) {
    return describe_terminal(interactive, {}, choice, variables).color;
  };
  EXPECT_TRUE(color(false, ColorChoice::always, {.no_color = "1", .term = "dumb"}));
  EXPECT_FALSE(color(true, ColorChoice::never, {.term = "xterm"}));
  EXPECT_FALSE(color(true, ColorChoice::automatic, {.no_color = "1", .term = "xterm"}));
  EXPECT_TRUE(color(true, ColorChoice::automatic, {.no_color = "", .term = "xterm"}));
  EXPECT_FALSE(color(true, ColorChoice::automatic, {.term = "dumb"}));
  EXPECT_FALSE(color(true, ColorChoice::automatic, {}));
}

TEST(Terminal, OfAClosedDescriptorIsNone) {
  EXPECT_FALSE(describe_terminal(-1, ColorChoice::automatic).interactive);
}

}  // namespace
}  // namespace plimsoll
