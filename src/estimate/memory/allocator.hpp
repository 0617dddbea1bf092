#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "network/setting.hpp"

namespace plimsoll::estimate {

/// PyTorch's caching allocator, as it was set, on a device.
struct AllocatorSettings {
  network::AllocatorOptions options = {};
  std::int64_t capacity = std::numeric_limits<std::int64_t>::max();  ///< bytes it may take from the device
  /// false: every tensor is an allocation of its own, as on a CPU; nothing is cached.
  bool caching = true;
  friend bool operator==(const AllocatorSettings&, const AllocatorSettings&) = default;
};

/// A model of PyTorch's caching allocator for GPUs: sizes rounded up to 512 B, a pool for small and one for
/// large blocks, best fit with the lowest address first, blocks split and merged again, segments kept until
/// memory is short. It hands out handles instead of memory. docs/memory.md has the rules.
class CachingAllocator {
 public:
  using Handle = std::uint32_t;

  explicit CachingAllocator(const AllocatorSettings& settings) : settings_(settings) {}

  /// nullopt where the capacity does not suffice even after all cached segments were given back.
  [[nodiscard]] std::optional<Handle> allocate(std::int64_t bytes);
  void free(Handle handle);

  /// Where the next segments lie, in the order in which they are taken; for replaying a trace, whose blocks
  /// of equal size are chosen by address. Without it addresses grow.
  void place_segments(std::span<const std::uint64_t> addresses) { addresses_ = addresses; }

  [[nodiscard]] std::int64_t allocated() const { return allocated_; }
  [[nodiscard]] std::int64_t reserved() const { return reserved_; }
  [[nodiscard]] std::int64_t peak_allocated() const { return peak_allocated_; }
  [[nodiscard]] std::int64_t peak_reserved() const { return peak_reserved_; }
  /// Bytes that a block takes, with what its segment could not be split by.
  [[nodiscard]] std::int64_t size_of(Handle handle) const { return blocks_[handle].size; }

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;
  enum class Pool : std::uint8_t { small, large };
  struct Block {
    std::uint64_t address = 0;
    std::int64_t size = 0;
    std::uint32_t previous = kNone, next = kNone;  ///< neighbours in the same segment
    Pool pool = Pool::small;
    bool allocated = false;
  };
  struct FreeBlock {
    std::int64_t size;
    std::uint64_t address;
    std::uint32_t block;
    friend bool operator<(const FreeBlock& a, const FreeBlock& b) {
      return a.size != b.size ? a.size < b.size : a.address < b.address;
    }
  };
  using FreeBlocks = std::set<FreeBlock>;

  FreeBlocks& free_blocks(Pool pool) { return free_[static_cast<std::size_t>(pool)]; }
  [[nodiscard]] std::uint32_t find(Pool pool, std::int64_t size);
  [[nodiscard]] std::uint32_t new_segment(Pool pool, std::int64_t size);
  [[nodiscard]] std::uint32_t grow_expandable(Pool pool, std::int64_t size);
  [[nodiscard]] bool should_split(const Block& block, std::int64_t size) const;
  void split(std::uint32_t index, std::int64_t size);
  void merge(std::uint32_t kept, std::uint32_t gone);
  void insert_free(std::uint32_t index);
  void erase_free(std::uint32_t index);
  void release_cached();
  [[nodiscard]] std::uint32_t new_block(const Block& block);
  void took(std::int64_t segment_bytes);

  AllocatorSettings settings_;
  std::vector<Block> blocks_;
  std::vector<std::uint32_t> unused_;  ///< indices in blocks_ that are free to use again
  FreeBlocks free_[2];
  std::uint32_t expandable_tail_[2] = {kNone, kNone};  ///< last block of each pool's growing segment
  std::span<const std::uint64_t> addresses_;
  std::size_t next_address_ = 0;
  std::uint64_t end_ = std::uint64_t{1} << 40;
  std::int64_t allocated_ = 0, reserved_ = 0, peak_allocated_ = 0, peak_reserved_ = 0;
};

}  // namespace plimsoll::estimate
