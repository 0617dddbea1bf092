#include "cuda/host_arrays.hpp"

#include <atomic>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace plimsoll::cuda {
namespace {

TEST(HostArrays, EveryElementIsVisitedOnce) {
  for (const std::int64_t count : {std::int64_t{0}, std::int64_t{1}, std::int64_t{1'000'003}}) {
    std::vector<std::atomic<int>> visits(static_cast<std::size_t>(count));
    in_parallel(count, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i)];
    });
    for (const auto& times : visits) ASSERT_EQ(times, 1);
  }
}

class Sums : public testing::Test {
 protected:
  void SetUp() override {
    fill_summands(a_.data(), b_.data(), kCount, 7);
    for (std::size_t i = 0; i < a_.size(); ++i) c_[i] = a_[i] + b_[i];
  }
  static constexpr std::int64_t kCount = 600'001;
  std::vector<float> a_ = std::vector<float>(kCount), b_ = a_, c_ = a_;
};

TEST_F(Sums, RightOnesAreFoundRight) {
  EXPECT_TRUE(all_sums_right(c_.data(), kCount, 7));
  EXPECT_GT(touch_pages(c_.data(), kCount), 0);
}

TEST_F(Sums, OneWrongBitIsSeenWhereverItIs) {
  for (const std::size_t i : {std::size_t{0}, std::size_t{300'000}, std::size_t{kCount - 1}}) {
    const float before = c_[i];
    c_[i] = std::nextafter(before, 3.0F);
    EXPECT_FALSE(all_sums_right(c_.data(), kCount, 7)) << i;
    c_[i] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_FALSE(all_sums_right(c_.data(), kCount, 7)) << i;
    c_[i] = before;
  }
}

TEST_F(Sums, ThoseOfAnotherSeedAreWrong) {
  EXPECT_FALSE(all_sums_right(c_.data(), kCount, 8));
}

}  // namespace
}  // namespace plimsoll::cuda
