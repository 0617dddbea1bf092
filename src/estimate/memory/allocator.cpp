#include "estimate/memory/allocator.hpp"

#include <algorithm>

namespace plimsoll::estimate {
namespace {

// The constants of c10/cuda/CUDACachingAllocator.
constexpr std::int64_t kSmallest = 512;   // sizes are multiples of it
constexpr std::int64_t kSmall = 1 << 20;  // up to here a request goes to the small pool
constexpr std::int64_t kSmallSegment = 2 << 20;
constexpr std::int64_t kLargeSegment = 20 << 20;  // for large requests below kMinimumOwnSegment
constexpr std::int64_t kMinimumOwnSegment = 10 << 20;
constexpr std::int64_t kSegmentRounding = 2 << 20;
constexpr std::int64_t kExpandableLargePage = 20 << 20;
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 4;

std::int64_t round_up(std::int64_t n, std::int64_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

std::int64_t segment_size(std::int64_t size) {
  if (size <= kSmall) return kSmallSegment;
  return size < kMinimumOwnSegment ? kLargeSegment : round_up(size, kSegmentRounding);
}

}  // namespace

std::uint32_t CachingAllocator::new_block(const Block& block) {
  if (!unused_.empty()) {
    const std::uint32_t index = unused_.back();
    unused_.pop_back();
    blocks_[index] = block;
    return index;
  }
  blocks_.push_back(block);
  return static_cast<std::uint32_t>(blocks_.size() - 1);
}

void CachingAllocator::insert_free(std::uint32_t index) {
  const Block& b = blocks_[index];
  free_blocks(b.pool).insert({b.size, b.address, index});
}

void CachingAllocator::erase_free(std::uint32_t index) {
  const Block& b = blocks_[index];
  free_blocks(b.pool).erase({b.size, b.address, index});
}

std::uint32_t CachingAllocator::find(Pool pool, std::int64_t size) {
  FreeBlocks& blocks = free_blocks(pool);
  const auto it = blocks.lower_bound({size, 0, 0});
  if (it == blocks.end()) return kNone;
  // Blocks too large to be split are kept for requests of their kind, with some slack.
  if (size < settings_.options.max_split_size && it->size >= settings_.options.max_split_size) return kNone;
  if (size >= settings_.options.max_split_size && it->size >= size + kLargeSegment) return kNone;
  const std::uint32_t index = it->block;
  blocks.erase(it);
  return index;
}

void CachingAllocator::took(std::int64_t segment_bytes) {
  reserved_ += segment_bytes;
  peak_reserved_ = std::max(peak_reserved_, reserved_);
}

std::uint32_t CachingAllocator::new_segment(Pool pool, std::int64_t size) {
  if (settings_.options.expandable_segments && settings_.caching) return grow_expandable(pool, size);
  const std::int64_t bytes = settings_.caching ? segment_size(size) : size;
  if (reserved_ > settings_.capacity - bytes) return kNone;
  std::uint64_t address = end_;
  if (next_address_ < addresses_.size())
    address = addresses_[next_address_++];
  else
    end_ += static_cast<std::uint64_t>(bytes);
  took(bytes);
  return new_block({.address = address, .size = bytes, .pool = pool});
}

std::uint32_t CachingAllocator::grow_expandable(Pool pool, std::int64_t size) {
  const std::int64_t page = pool == Pool::small ? kSmallSegment : kExpandableLargePage;
  std::uint32_t& tail = expandable_tail_[static_cast<std::size_t>(pool)];
  const bool reuse = tail != kNone && !blocks_[tail].allocated;
  const std::int64_t have = reuse ? blocks_[tail].size : 0;
  const std::int64_t more = round_up(size - have, page);
  if (reserved_ > settings_.capacity - more) return kNone;
  took(more);
  if (reuse) {
    erase_free(tail);
    blocks_[tail].size += more;
    return tail;
  }
  // Pools lie far apart: one virtual range for each.
  const std::uint64_t start = tail == kNone
                                  ? (1 + static_cast<std::uint64_t>(pool)) << 48
                                  : blocks_[tail].address + static_cast<std::uint64_t>(blocks_[tail].size);
  const std::uint32_t index = new_block({.address = start, .size = more, .previous = tail, .pool = pool});
  if (tail != kNone) blocks_[tail].next = index;
  tail = index;
  return index;
}

bool CachingAllocator::should_split(const Block& block, std::int64_t size) const {
  const std::int64_t remaining = block.size - size;
  if (block.pool == Pool::small || settings_.options.expandable_segments) return remaining >= kSmallest;
  return size < settings_.options.max_split_size && remaining > kSmall;
}

void CachingAllocator::split(std::uint32_t index, std::int64_t size) {
  const Block front = blocks_[index];
  const std::uint32_t rest = new_block({.address = front.address + static_cast<std::uint64_t>(size),
                                        .size = front.size - size,
                                        .previous = index,
                                        .next = front.next,
                                        .pool = front.pool});
  if (front.next != kNone)
    blocks_[front.next].previous = rest;
  else if (expandable_tail_[static_cast<std::size_t>(front.pool)] == index)
    expandable_tail_[static_cast<std::size_t>(front.pool)] = rest;
  blocks_[index].next = rest;
  blocks_[index].size = size;
  insert_free(rest);
}

std::optional<CachingAllocator::Handle> CachingAllocator::allocate(std::int64_t bytes) {
  if (bytes > kMost) return std::nullopt;
  const std::int64_t size = round_up(std::max<std::int64_t>(bytes, 1), kSmallest);
  const Pool pool = size <= kSmall ? Pool::small : Pool::large;
  std::uint32_t index = find(pool, size);
  if (index == kNone) index = new_segment(pool, size);
  if (index == kNone) {
    release_cached();
    index = new_segment(pool, size);
  }
  if (index == kNone) return std::nullopt;
  if (settings_.caching && should_split(blocks_[index], size)) split(index, size);
  blocks_[index].allocated = true;
  allocated_ += blocks_[index].size;
  peak_allocated_ = std::max(peak_allocated_, allocated_);
  return index;
}

void CachingAllocator::merge(std::uint32_t kept, std::uint32_t gone) {
  Block& k = blocks_[kept];
  const Block& g = blocks_[gone];
  k.size += g.size;
  k.next = g.next;
  if (g.next != kNone)
    blocks_[g.next].previous = kept;
  else if (expandable_tail_[static_cast<std::size_t>(g.pool)] == gone)
    expandable_tail_[static_cast<std::size_t>(g.pool)] = kept;
  unused_.push_back(gone);
}

void CachingAllocator::free(Handle handle) {
  std::uint32_t index = handle;
  allocated_ -= blocks_[index].size;
  blocks_[index].allocated = false;
  if (!settings_.caching) {
    reserved_ -= blocks_[index].size;
    unused_.push_back(index);
    return;
  }
  if (const std::uint32_t next = blocks_[index].next; next != kNone && !blocks_[next].allocated) {
    erase_free(next);
    merge(index, next);
  }
  if (const std::uint32_t previous = blocks_[index].previous;
      previous != kNone && !blocks_[previous].allocated) {
    erase_free(previous);
    merge(previous, index);
    index = previous;
  }
  insert_free(index);
}

void CachingAllocator::release_cached() {
  for (const Pool pool : {Pool::small, Pool::large}) {
    FreeBlocks& blocks = free_blocks(pool);
    if (settings_.options.expandable_segments) {
      // Pages are unmapped wherever they are whole; what matters for the capacity is the free end.
      std::uint32_t& tail = expandable_tail_[static_cast<std::size_t>(pool)];
      if (tail == kNone || blocks_[tail].allocated) continue;
      const std::int64_t page = pool == Pool::small ? kSmallSegment : kExpandableLargePage;
      const std::int64_t pages = blocks_[tail].size / page * page;
      if (pages == 0) continue;
      erase_free(tail);
      reserved_ -= pages;
      if (blocks_[tail].size > pages) {
        blocks_[tail].size -= pages;
        insert_free(tail);
      } else {
        const std::uint32_t previous = blocks_[tail].previous;
        unused_.push_back(tail);
        if (previous != kNone) blocks_[previous].next = kNone;
        tail = previous;
      }
      continue;
    }
    for (auto it = blocks.begin(); it != blocks.end();) {
      const Block& b = blocks_[it->block];
      if (b.previous != kNone || b.next != kNone) {
        ++it;
        continue;
      }
      reserved_ -= b.size;
      unused_.push_back(it->block);
      it = blocks.erase(it);
    }
  }
}

}  // namespace plimsoll::estimate
