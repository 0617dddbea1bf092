#include <algorithm>
#include <bit>

#include "network/saturating.hpp"
#include "program/lowering.hpp"

namespace plimsoll::program {

// at::native::setReduceConfig for a sum down contiguous columns: each thread takes four neighbouring columns,
// a block is 32 x 4 threads, and where the columns are few the rows are divided among several blocks, whose
// partial sums meet in global memory.
std::int64_t reduction_buffer(std::int64_t rows, std::int64_t columns, std::int64_t multiprocessors) {
  constexpr std::int64_t kMostThreads = 512, kWarp = 32, kThreadsPerSm = 2048;
  constexpr std::int64_t kLeastValues = 16, kMostValues = 256, kAccumulatorBytes = 4;
  if (rows <= 1 || columns <= 0) return 0;
  const auto up = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
  const auto power = [](std::int64_t n) {
    return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(n)));
  };
  std::int64_t vector = 1;
  if (columns % 4 == 0 && columns >= 128) vector = 4;
  const std::int64_t threads = kMostThreads / vector;
  const std::int64_t across = columns / vector;
  const std::int64_t wide = std::min(power(across), threads), tall = std::min(power(rows), threads);
  std::int64_t block_x = std::min(wide, kWarp);
  const std::int64_t block_y = std::min(tall, threads / block_x);
  block_x = std::min(wide, threads / block_y);
  const std::int64_t values_per_thread = up(rows, block_y);
  if (values_per_thread < kMostValues) return 0;
  const std::int64_t grid = up(across, block_x);
  const std::int64_t target = multiprocessors * (kThreadsPerSm / (block_x * block_y));
  if (grid > target) return 0;
  const std::int64_t blocks = std::max(std::min(up(target, grid), up(values_per_thread, kLeastValues)),
                                       up(values_per_thread, kMostValues));
  if (blocks <= 1) return 0;
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(network::product(kAccumulatorBytes, columns), blocks * block_x * vector, &bytes))
    return 0;
  return bytes;
}

}  // namespace plimsoll::program
