#include "run/profiler.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::running {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Profiler, WrapsTheCommandAndNamesItsReport) {
  EXPECT_THAT(profiled(Profiler::nsys, {"a", "b"}, "/x"),
              ElementsAre("nsys", "profile", "--force-overwrite=true", "-o", "/x/nsys", "a", "b"));
  EXPECT_THAT(
      profiled(Profiler::torch, {"python3", "t.py", "--lr", "1"}, "/x"),
      ElementsAre("python3", "-c", HasSubstr("runpy"), "/x/torch_trace.json", "-f", "t.py", "--lr", "1"));
  EXPECT_THAT(profiled(Profiler::torch, {"python3", "-m", "t", "1"}, "/x"),
              ElementsAre("python3", "-c", HasSubstr("runpy"), "/x/torch_trace.json", "-m", "t", "1"));
  EXPECT_THAT(profiled(Profiler::none, {"a"}, "/x"), ElementsAre("a"));
}

TEST(Profiler, SaysWhatIsMissing) {
  EXPECT_FALSE(check_profiler(Profiler::torch, {"./train"}));
  EXPECT_FALSE(check_profiler(Profiler::torch, {"python3", "-c", "1"}));
  EXPECT_TRUE(check_profiler(Profiler::torch, {"/usr/bin/python3.11", "t.py"}));
  EXPECT_TRUE(check_profiler(Profiler::none, {}));
  EXPECT_FALSE(parse_profiler("perf"));
  EXPECT_EQ(parse_profiler("ncu"), Profiler::ncu);
}

}  // namespace
}  // namespace plimsoll::running
