#include "base/at_once.hpp"

#include <atomic>
#include <vector>

#include <gtest/gtest.h>

namespace plimsoll {
namespace {

TEST(AtOnce, EachIsDoneOnceHoweverManyThreadsThereAre) {
  for (const std::size_t threads : {0, 1, 3, 200}) {
    std::vector<std::atomic<int>> done(100);
    at_once(done.size(), threads, [&](std::size_t i) { ++done[i]; });
    for (const auto& one : done) EXPECT_EQ(one, 1) << threads;
  }
  at_once(0, [](std::size_t) { FAIL(); });
}

}  // namespace
}  // namespace plimsoll
