#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <c10/core/Device.h>

#include "base/error.hpp"

namespace plimsoll::engine {

/// Blocks that lie one after the other.
struct BlockRange {
  std::int64_t first = 0, count = 0;
};

/// A point in the order of copies, or of what is computed.
class Fence {
 public:
  virtual ~Fence() = default;
  virtual void hold_computing() = 0;  ///< what is computed from now on comes after it
  virtual void wait() = 0;            ///< the caller does
};

/// Addresses for all blocks, memory for as many as are allowed, which is there from the beginning. What a
/// block holds lies on the host, always; on the device it lies at the block's own address while it is mapped,
/// in memory that other blocks had before. One thread maps and copies, another computes.
class BlockMemory {
 public:
  BlockMemory(std::int64_t block_bytes, std::int64_t blocks, std::int64_t capacity)
      : block_bytes_(block_bytes), blocks_(blocks), capacity_(capacity) {}
  virtual ~BlockMemory() = default;
  BlockMemory(const BlockMemory&) = delete;
  BlockMemory& operator=(const BlockMemory&) = delete;

  [[nodiscard]] virtual std::byte* device() const = 0;  ///< where block 0 is, or would be
  [[nodiscard]] virtual std::byte* host() const = 0;

  /// Throws where that would be more than the capacity. Neither waits for what is computed.
  void map(BlockRange range);
  void unmap(BlockRange range);
  /// Begins to copy blocks that are mapped; copies go one after the other.
  void copy(BlockRange range);
  virtual void finish_copies() = 0;  ///< waits for all of them
  [[nodiscard]] virtual std::unique_ptr<Fence> copied() = 0;
  [[nodiscard]] virtual std::unique_ptr<Fence> computed() = 0;  ///< for the thread that computes
  /// For a thread that is to map and copy, before it does.
  virtual void enter() = 0;

  /// As the allocator sees it.
  struct Usage {
    std::int64_t mapped = 0, peak = 0;  ///< bytes
    std::int64_t copied = 0;            ///< bytes
    std::int64_t copies = 0;
    double copying = 0;  ///< seconds while a copy was under way
  };
  [[nodiscard]] const Usage& usage() const { return usage_; }
  void count_anew() { usage_ = {.mapped = usage_.mapped, .peak = usage_.mapped}; }

 protected:
  [[nodiscard]] std::size_t bytes(std::int64_t blocks) const {
    return static_cast<std::size_t>(blocks * block_bytes_);
  }
  [[nodiscard]] std::int64_t blocks() const { return blocks_; }
  /// Blocks that memory is needed for.
  [[nodiscard]] std::int64_t room() const { return std::min(capacity_, blocks_); }
  void took(double seconds) { usage_.copying += seconds; }

 private:
  virtual void do_map(BlockRange range) = 0;
  virtual void do_unmap(BlockRange range) = 0;
  virtual void do_copy(BlockRange range) = 0;

  std::int64_t block_bytes_, blocks_, capacity_;
  Usage usage_;
};

/// machine_lacks where the machine has not the addresses or the host's memory.
[[nodiscard]] Result<std::unique_ptr<BlockMemory>> open_block_memory(c10::Device device,
                                                                     std::int64_t block_bytes,
                                                                     std::int64_t blocks,
                                                                     std::int64_t capacity);
[[nodiscard]] Result<std::unique_ptr<BlockMemory>> open_cuda_blocks(int device, std::int64_t block_bytes,
                                                                    std::int64_t blocks,
                                                                    std::int64_t capacity);

}  // namespace plimsoll::engine
