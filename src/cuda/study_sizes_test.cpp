#include "cuda/study_sizes.hpp"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::cuda {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(StudySizes, SizesGoUpToWhatFits) {
  EXPECT_THAT(sizes_between(4, 64, 4, 1000), ElementsAre(4, 16, 64));
  EXPECT_THAT(sizes_between(4, 64, 2, 20), ElementsAre(4, 8, 16));
  EXPECT_THAT(sizes_between(4, 64, 2, 3), IsEmpty());
}

/// Goes over an array as a grid would, and tells how often each item was met.
std::vector<int> met(const Sweep& sweep, std::uint32_t threads) {
  std::vector<int> times(sweep.items);
  for (std::uint32_t thread = 0; thread < threads; ++thread) {
    std::uint32_t at = thread % sweep.items;
    for (std::uint32_t step = 0; step < sweep.steps; ++step) {
      times.at(at)++;
      at += sweep.step;
      if (at >= sweep.items) at -= sweep.items;
    }
  }
  return times;
}

TEST(StudySizes, ASweepMeetsEveryItemEquallyOften) {
  for (const std::int64_t items : {1, 7, 64, 1000, 4096}) {
    const Sweep sweep = sweep_over(items * kSweepItem, 1, 96, 4000 * kSweepItem);
    EXPECT_EQ(sweep.items, items);
    EXPECT_EQ(sweep.steps % kSweepUnroll, 0U);
    const std::vector<int> times = met(sweep, 96);
    const auto [least, most] = std::ranges::minmax(times);
    EXPECT_GE(least, 1) << items;
    EXPECT_LE(most - least, 1) << items;
    int all = 0;
    for (const int one : times) all += one;
    EXPECT_DOUBLE_EQ(all, sweep.passes * static_cast<double>(items));
    EXPECT_GE(all, 4000);
  }
}

TEST(StudySizes, ASweepOfSeveralArraysIsAsLongAsAllOfThem) {
  const Sweep one = sweep_over(1 << 20, 1, 1024, 1 << 24), three = sweep_over(1 << 20, 3, 1024, 3 << 24);
  EXPECT_EQ(one, three);
}

TEST(StudySizes, TheLargestSweepStaysWithin32Bits) {
  const Sweep sweep =
      sweep_over(std::int64_t{4} << 30, 1, std::int64_t{132} * 32 * 256, std::int64_t{1} << 30);
  EXPECT_EQ(sweep.items, 1U << 28);
  EXPECT_GE(sweep.passes, 1);
  EXPECT_LT(sweep.passes, 1.02);
}

TEST(StudySizes, BytesOfMatrixProducts) {
  // 256 x 256: 2 * 256^3 numbers read and 256^2 written, of 4 B; with tiles of 128, two of each row's.
  EXPECT_DOUBLE_EQ(square_product_flops(256), 2.0 * 16'777'216);
  EXPECT_DOUBLE_EQ(naive_bytes(256), 4.0 * (2 * 16'777'216 + 65'536));
  EXPECT_DOUBLE_EQ(blocked_bytes(256, 128), 4.0 * (2 * 65'536 * 2 + 65'536));
  EXPECT_DOUBLE_EQ(blocked_bytes(257, 128), 4.0 * (2 * 66'049 * 3 + 66'049));
  EXPECT_DOUBLE_EQ(library_bytes(256), 4.0 * 3 * 65'536);
}

TEST(StudySizes, SlowStepsAreLeftOut) {
  EXPECT_FALSE(takes_too_long(100'000'000, kSlowestSecondsPerItem));
  EXPECT_TRUE(takes_too_long(1'000'000'000, kSlowestSecondsPerItem));
}

TEST(StudySizes, HostMemoryIsReadOrUnknown) {
  EXPECT_EQ(memory_available_in("MemTotal: 9 kB\nMemAvailable:     2048 kB\nx: 1 kB\n"), 2048 * 1024);
  EXPECT_EQ(memory_available_in("MemTotal: 9 kB\n"), 0);
  EXPECT_EQ(memory_available_in("MemAvailable:"), 0);
  EXPECT_EQ(memory_available_in("MemAvailable: 99999999999999999999 kB"), 0);
  EXPECT_GT(host_memory_available(), 0);
}

TEST(StudySizes, Words) {
  EXPECT_EQ(phase_of(Place::managed, Workers::one_block, 5'000'000),
            "vector add of 5.00 M, managed, one block");
  EXPECT_EQ(phase_of(Method::blocked, 512), "matrix product of 512 x 512, blocked");
  EXPECT_EQ(phase_of("memory-read", 65536), "memory-read at 64.0 KiB");
  EXPECT_THAT(left_out("a copy", 2 << 20, 1 << 20, "the GPU"),
              HasSubstr("needs 2.00 MiB, and the GPU has 1.00 MiB free"));
  EXPECT_EQ(version_text(13010, 1000, 10), "13.1");
  EXPECT_EQ(version_text(130102, 10000, 100), "13.1");
  const unsigned char bytes[16] = {0xc5, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 255};
  EXPECT_EQ(uuid_text(bytes), "GPU-c5000102-0304-0506-0708-090a0b0c0dff");
}

}  // namespace
}  // namespace plimsoll::cuda
