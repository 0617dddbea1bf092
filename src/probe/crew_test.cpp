#include "probe/crew.hpp"

#include <atomic>

#include <gtest/gtest.h>
#include <sched.h>

namespace plimsoll::probe {
namespace {

TEST(SliceOf, CoversEverythingOnceAndMeetsAtGrains) {
  for (const std::int64_t count : {0, 1, 31, 32, 1000, 4096})
    for (const int threads : {1, 2, 3, 7}) {
      std::int64_t at = 0;
      for (int thread = 0; thread < threads; ++thread) {
        const Slice slice = slice_of(count, thread, threads, 32);
        EXPECT_EQ(slice.begin, at);
        EXPECT_GE(slice.size(), 0);
        EXPECT_TRUE(slice.end % 32 == 0 || slice.end == count);
        at = slice.end;
      }
      EXPECT_EQ(at, count);
    }
}

TEST(Crew, EveryThreadWorksOnceEachTime) {
  const Cores cores = cores_here();
  ASSERT_GE(cores.threads, 1);
  const auto crew = Crew::gather(cores, 3);
  ASSERT_TRUE(crew);
  EXPECT_EQ((*crew)->size(), 3);
  std::atomic<int> sum = 0, calls = 0;
  for (int i = 0; i < 100; ++i) {
    const double seconds = (*crew)->run([&](int thread) { sum += thread, ++calls; });
    EXPECT_GE(seconds, 0);
  }
  EXPECT_EQ(calls, 300);
  EXPECT_EQ(sum, 100 * (0 + 1 + 2));
}

TEST(Crew, ThreadsStayOnTheProcessorsThatAreAllowed) {
  const Cores cores = cores_here();
  const auto crew = Crew::gather(cores, cores.threads);
  ASSERT_TRUE(crew);
  std::vector<int> allowed(static_cast<std::size_t>(cores.threads), 0);
  (*crew)->run([&](int thread) {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (::sched_getaffinity(0, sizeof set, &set) == 0)
      allowed[static_cast<std::size_t>(thread)] = CPU_COUNT(&set);
  });
  for (const int count : allowed) EXPECT_EQ(count, 1);
}

TEST(Cores, TheCallerIsNotPinned) {
  const Cores before = cores_here();
  const auto crew = Crew::gather(before, 1);
  ASSERT_TRUE(crew);
  (*crew)->run([](int) {});
  EXPECT_EQ(cores_here().cpus, before.cpus);
}

TEST(AvailableMemory, IsSomethingHere) {
  const auto free = available_memory();
  ASSERT_TRUE(free);
  EXPECT_GT(*free, kMiB);
  EXPECT_EQ(available_memory("/nonexistent"), std::nullopt);
}

}  // namespace
}  // namespace plimsoll::probe
