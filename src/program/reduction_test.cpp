// Sums of gradients down to a bias, as PyTorch's reduction kernel divides them, against what was measured on
// an H200 of 132 multiprocessors.
#include <gtest/gtest.h>

#include "program/lowering.hpp"

namespace plimsoll::program {
namespace {

constexpr std::int64_t kH200 = 132;

TEST(ReductionBuffer, AsMeasuredOnAnH200) {
  EXPECT_EQ(reduction_buffer(4096, 768, kH200), 25'165'824);
  EXPECT_EQ(reduction_buffer(4096, 3072, kH200), 100'663'296);
  EXPECT_EQ(reduction_buffer(6304, 3072, kH200), 138'412'032);
  EXPECT_EQ(reduction_buffer(6304, 2304, kH200), 116'785'152);
  EXPECT_EQ(reduction_buffer(4096, 1024, kH200), 33'554'432);
}

TEST(ReductionBuffer, NoneWhereOneBlockPerColumnDoes) {
  EXPECT_EQ(reduction_buffer(32, 768, kH200), 0);
  EXPECT_EQ(reduction_buffer(32, 3072, kH200), 0);
  EXPECT_EQ(reduction_buffer(1, 768, kH200), 0);
  EXPECT_EQ(reduction_buffer(0, 768, kH200), 0);
  EXPECT_EQ(reduction_buffer(4096, 0, kH200), 0);
  // Each of 4 threads would take 255.75 rows; from 256 on the rows are divided.
  EXPECT_EQ(reduction_buffer(1020, 768, kH200), 0);
  EXPECT_GT(reduction_buffer(1024, 768, kH200), 0);
}

TEST(ReductionBuffer, NoneWhereTheColumnsFillTheGpu) {
  // 128 columns per block, 16 blocks per multiprocessor: 2112 blocks on an H200, 16 on a GPU of one.
  EXPECT_GT(reduction_buffer(4096, 2112 * 128, kH200), 0);
  EXPECT_EQ(reduction_buffer(4096, 2113 * 128, kH200), 0);
  EXPECT_EQ(reduction_buffer(4096, 3072, 1), 0);
}

TEST(ReductionBuffer, SizesBeyondAnyDevice) {
  const std::int64_t most = std::int64_t{1} << 61;
  EXPECT_GE(reduction_buffer(most, 1024, kH200), 0);
  EXPECT_EQ(reduction_buffer(4096, most, kH200), 0);
}

}  // namespace
}  // namespace plimsoll::program
