#include "engine/swapping/block_memory.hpp"

#include <cstring>

#include <c10/util/Exception.h>
#include <gtest/gtest.h>

namespace plimsoll::engine {
namespace {

constexpr std::int64_t kBlock = 64 << 10, kBlocks = 5, kRoom = 3;

std::unique_ptr<BlockMemory> numbered_blocks() {
  auto opened = open_block_memory(c10::Device(c10::kCPU), kBlock, kBlocks, kRoom);
  EXPECT_TRUE(opened) << opened.error().text();
  std::unique_ptr<BlockMemory> memory = *std::move(opened);
  for (std::int64_t block = 0; block < kBlocks; ++block)
    std::memset(memory->host() + block * kBlock, static_cast<int>(block + 1), kBlock);
  return memory;
}

void expect_number(const BlockMemory& memory, std::int64_t block) {
  for (std::int64_t at : {std::int64_t{0}, kBlock / 2, kBlock - 1})
    EXPECT_EQ(static_cast<int>(memory.device()[block * kBlock + at]), block + 1) << at;
}

TEST(BlockMemory, BlocksHoldTheirOwnAtTheirOwnAddressInMemoryOfOthers) {
  const auto memory = numbered_blocks();
  memory->map({0, 3});
  memory->copy({0, 3});
  memory->unmap({1, 1});
  memory->map({4, 1});
  memory->copy({4, 1});
  memory->finish_copies();
  for (const std::int64_t block : {0, 2, 4}) expect_number(*memory, block);
  const BlockMemory::Usage& usage = memory->usage();
  EXPECT_EQ(usage.mapped, 3 * kBlock);
  EXPECT_EQ(usage.peak, 3 * kBlock);
  EXPECT_EQ(usage.copied, 4 * kBlock);
  EXPECT_EQ(usage.copies, 2);
}

TEST(BlockMemory, ThereIsNeverMoreThanThereIsRoomFor) {
  const auto memory = numbered_blocks();
  memory->map({0, 2});
  EXPECT_THROW(memory->map({2, 2}), c10::Error);
  EXPECT_EQ(memory->usage().peak, 2 * kBlock);
  memory->map({2, 1});
  EXPECT_EQ(memory->usage().peak, 3 * kBlock);
}

TEST(BlockMemory, CountsAnew) {
  const auto memory = numbered_blocks();
  memory->map({0, 3});
  memory->copy({0, 3});
  memory->unmap({0, 3});
  memory->count_anew();
  EXPECT_EQ(memory->usage().peak, 0);
  EXPECT_EQ(memory->usage().copied, 0);
  memory->map({3, 2});
  memory->copy({3, 2});
  expect_number(*memory, 3);
  expect_number(*memory, 4);
}

TEST(BlockMemory, BlocksAreWholePages) {
  EXPECT_FALSE(open_block_memory(c10::Device(c10::kCPU), 1000, 2, 1));
}

}  // namespace
}  // namespace plimsoll::engine
