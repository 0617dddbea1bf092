#include "cuda/sampling.hpp"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::cuda {
namespace {

/// A clock on which every call takes the same, and the first one longer.
struct Imagined {
  double each = 0;
  double first_extra = 0;
  std::vector<std::int64_t> asked = {};
  double operator()(std::int64_t calls) {
    asked.push_back(calls);
    return each * static_cast<double>(calls) + (asked.size() == 1 ? first_extra : 0);
  }
};
std::vector<double> sampled(Imagined& clock, const Sampling& sampling = {}) {
  return sample(sampling, [&clock](std::int64_t calls) { return clock(calls); });
}

TEST(CudaSampling, ShortCallsAreGathered) {
  Imagined clock{.each = 1e-5, .first_extra = 1};
  EXPECT_THAT(sampled(clock), testing::Each(testing::DoubleNear(1e-5, 1e-9)));
  EXPECT_GE(clock.asked.back(), 100);  // of 10 us each: 1 ms
  EXPECT_LE(clock.asked.back(), 101);
}

TEST(CudaSampling, ThereIsOneSampleOfWhatIsSlowAndElevenOfWhatIsNot) {
  Imagined slow{.each = 20}, middling{.each = 0.5}, quick{.each = 1e-3};
  EXPECT_EQ(sampled(slow).size(), 1U);
  EXPECT_EQ(slow.asked.size(), 3U);  // none for warming up: it has been warm for long enough
  EXPECT_EQ(sampled(middling).size(), 6U);
  EXPECT_EQ(sampled(quick).size(), 11U);
}

TEST(CudaSampling, WarmsUpAsLongAsAsked) {
  Imagined clock{.each = 1e-3};
  const auto samples = sampled(clock, {.warm_up_seconds = 0.3});
  const auto warm = clock.asked.size() - samples.size();
  EXPECT_GE(warm, 60U);  // batches of 5 ms
  EXPECT_LE(warm, 64U);
}

TEST(CudaSampling, AClockThatSaysZeroEndsToo) {
  Imagined clock{.each = 0};
  EXPECT_EQ(sampled(clock).size(), 11U);
  EXPECT_LE(std::ranges::max(clock.asked), 20'000);
}

TEST(CudaSampling, RepetitionsFollowTheFirst) {
  EXPECT_EQ(repetitions_after(0.01), (Repetitions{.more = 7, .drop_first = true}));
  EXPECT_EQ(repetitions_after(1), (Repetitions{.more = 2, .drop_first = false}));
  EXPECT_EQ(repetitions_after(9), (Repetitions{.more = 0, .drop_first = false}));
}

}  // namespace
}  // namespace plimsoll::cuda
