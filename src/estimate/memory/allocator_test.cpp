#include "estimate/memory/allocator.hpp"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace plimsoll::estimate {
namespace {

using Handle = CachingAllocator::Handle;

constexpr std::int64_t kKiB = 1 << 10, kMiB = 1 << 20;

Handle must(CachingAllocator& allocator, std::int64_t bytes) {
  const auto handle = allocator.allocate(bytes);
  EXPECT_TRUE(handle) << bytes;
  return handle.value_or(0);
}

TEST(CachingAllocator, RoundsSizesUpTo512) {
  CachingAllocator a({});
  EXPECT_EQ(a.size_of(must(a, 0)), 512);  // an empty tensor that asks still gets a block
  EXPECT_EQ(a.size_of(must(a, 1)), 512);
  EXPECT_EQ(a.size_of(must(a, 512)), 512);
  EXPECT_EQ(a.size_of(must(a, 513)), 1024);
  EXPECT_EQ(a.allocated(), 3 * 512 + 1024);
  EXPECT_EQ(a.reserved(), 2 * kMiB);
}

TEST(CachingAllocator, SmallPoolHoldsRequestsUpToOneMebibyte) {
  CachingAllocator a({});
  (void)must(a, kMiB);
  (void)must(a, kMiB);
  EXPECT_EQ(a.reserved(), 2 * kMiB);  // both halves of one segment
  (void)must(a, kMiB + 1);            // rounds to 1 MiB + 512: the large pool
  EXPECT_EQ(a.reserved(), 22 * kMiB);
  (void)must(a, 512);  // the small pool is full, and the large one's 19 MiB are not for it
  EXPECT_EQ(a.reserved(), 24 * kMiB);
}

TEST(CachingAllocator, SegmentsOfLargeRequests) {
  const auto reserved = [](std::int64_t bytes) {
    CachingAllocator a({});
    (void)must(a, bytes);
    return a.reserved();
  };
  EXPECT_EQ(reserved(kMiB + 512), 20 * kMiB);
  EXPECT_EQ(reserved(10 * kMiB - 512), 20 * kMiB);
  EXPECT_EQ(reserved(10 * kMiB), 10 * kMiB);  // from here on rounded to 2 MiB
  EXPECT_EQ(reserved(10 * kMiB + 1), 12 * kMiB);
  EXPECT_EQ(reserved(25 * kMiB), 26 * kMiB);
}

/// The worked example of docs/memory.md: more memory is asked for, and less is counted as allocated.
TEST(CachingAllocator, CountsWhatItCannotSplitOffSoThatALargerBatchMayCountLess) {
  const auto peak = [](std::int64_t activation) {
    CachingAllocator a({});
    const Handle first = must(a, activation), weight = must(a, 4 * kMiB);
    a.free(first);
    const Handle gradient = must(a, 4 * kMiB), state = must(a, 20 * kMiB);
    for (const Handle h : {weight, gradient, state}) a.free(h);
    return a.peak_allocated();
  };
  EXPECT_EQ(peak(9 * kMiB / 2), 57 * kMiB / 2);  // half a MiB is left over: the gradient keeps it
  EXPECT_EQ(peak(6 * kMiB), 28 * kMiB);          // two MiB are left over, and split off
}

TEST(CachingAllocator, BestFitIsTheSmallestThatSuffices) {
  CachingAllocator a({});
  const Handle large = must(a, 32 * kMiB), middle = must(a, 16 * kMiB), small = must(a, 12 * kMiB);
  for (const Handle h : {large, middle, small}) a.free(h);
  EXPECT_EQ(must(a, 14 * kMiB), middle);  // 12 is too little, 16 less than 32
  EXPECT_EQ(a.reserved(), 60 * kMiB);
}

TEST(CachingAllocator, OfEqualBlocksTheLowestAddress) {
  CachingAllocator a({});
  const Handle first = must(a, 16 * kMiB), second = must(a, 16 * kMiB);  // without places, addresses grow
  a.free(second);
  a.free(first);
  EXPECT_EQ(must(a, 16 * kMiB), first);
}

TEST(CachingAllocator, PlacesOfSegmentsDecideTies) {
  CachingAllocator a({});
  const std::vector<std::uint64_t> places = {0x7000000000, 0x5000000000};
  a.place_segments(places);
  const Handle high = must(a, 16 * kMiB), low = must(a, 16 * kMiB);
  a.free(high);
  a.free(low);
  EXPECT_EQ(must(a, 16 * kMiB), low);  // taken second, but at the lower address
}

TEST(CachingAllocator, SmallBlocksAreSplitDownTo512) {
  CachingAllocator a({});
  (void)must(a, kMiB);
  EXPECT_EQ(a.size_of(must(a, kMiB - 512)), kMiB - 512);  // what remains is 512
  (void)must(a, 512);
  EXPECT_EQ(a.reserved(), 2 * kMiB);
  EXPECT_EQ(a.allocated(), 2 * kMiB);
}

TEST(CachingAllocator, LargeBlocksAreSplitOnlyAboveOneMebibyte) {
  constexpr std::int64_t kHalf = 19 * kMiB / 2;  // 9.5 MiB: 10.5 of 20 MiB remain
  CachingAllocator unsplit({});
  (void)must(unsplit, kHalf);
  const Handle rest = must(unsplit, kHalf);  // would leave 1 MiB exactly: stays whole, and counts
  EXPECT_EQ(unsplit.size_of(rest), kHalf + kMiB);
  EXPECT_EQ(unsplit.allocated(), 20 * kMiB);

  CachingAllocator split({});
  (void)must(split, kHalf);
  EXPECT_EQ(split.size_of(must(split, kHalf - 512)), kHalf - 512);  // leaves 1 MiB and 512 B
  (void)must(split, kMiB + 512);                                    // which serve a large request
  EXPECT_EQ(split.reserved(), 20 * kMiB);
}

/// A segment of 20 MiB filled with 4, 4, 4 and 8 MiB.
struct Neighbours {
  CachingAllocator allocator{AllocatorSettings{}};
  Handle a = must(allocator, 4 * kMiB), b = must(allocator, 4 * kMiB), c = must(allocator, 4 * kMiB),
         d = must(allocator, 8 * kMiB);
  /// What a request adds to what is reserved.
  std::int64_t growth(std::int64_t bytes) {
    const std::int64_t before = allocator.reserved();
    (void)must(allocator, bytes);
    return allocator.reserved() - before;
  }
};

TEST(CachingAllocator, FreeBetweenLiveBlocksMergesNothing) {
  Neighbours n;
  ASSERT_EQ(n.allocator.reserved(), 20 * kMiB);
  n.allocator.free(n.b);
  EXPECT_EQ(n.growth(4 * kMiB + 512), 20 * kMiB);
  EXPECT_EQ(n.growth(4 * kMiB), 0);
}

TEST(CachingAllocator, FreeMergesWithTheNext) {
  Neighbours n;
  n.allocator.free(n.c);
  n.allocator.free(n.b);  // 8 MiB in one, between a and d
  EXPECT_EQ(n.growth(8 * kMiB), 0);
}

TEST(CachingAllocator, FreeMergesWithThePrevious) {
  Neighbours n;
  n.allocator.free(n.b);
  n.allocator.free(n.c);
  EXPECT_EQ(n.growth(8 * kMiB), 0);
}

TEST(CachingAllocator, FreeMergesBothSides) {
  Neighbours n;
  n.allocator.free(n.a);
  n.allocator.free(n.c);
  n.allocator.free(n.b);  // 12 MiB before d
  EXPECT_EQ(n.growth(12 * kMiB), 0);
  EXPECT_EQ(n.allocator.allocated(), 20 * kMiB);
}

TEST(CachingAllocator, CachedSegmentsStayUntilMemoryIsShort) {
  CachingAllocator a({.capacity = 40 * kMiB});
  a.free(must(a, 16 * kMiB));
  EXPECT_EQ(a.allocated(), 0);
  EXPECT_EQ(a.reserved(), 16 * kMiB);
  (void)must(a, 24 * kMiB);  // 16 + 24 is what there is
  EXPECT_EQ(a.reserved(), 40 * kMiB);
  (void)must(a, kMiB);  // a segment of 2 MiB finds no room: the cached 16 go back
  EXPECT_EQ(a.reserved(), 26 * kMiB);
  EXPECT_EQ(a.peak_reserved(), 40 * kMiB);
}

TEST(CachingAllocator, SegmentsInUseAreNotGivenBack) {
  CachingAllocator a({.capacity = 40 * kMiB});
  (void)must(a, 2 * kMiB);  // 18 of 20 MiB are free, but the segment is split
  EXPECT_FALSE(a.allocate(22 * kMiB));
  EXPECT_EQ(a.reserved(), 20 * kMiB);
  (void)must(a, 20 * kMiB);
}

TEST(CachingAllocator, OutOfMemoryChangesNothing) {
  CachingAllocator a({.capacity = 24 * kMiB});
  (void)must(a, 12 * kMiB);
  EXPECT_FALSE(a.allocate(14 * kMiB));
  EXPECT_FALSE(a.allocate(2 * kMiB));  // would take a segment of 20 MiB, though 12 are left
  EXPECT_EQ(a.allocated(), 12 * kMiB);
  EXPECT_EQ(a.peak_allocated(), 12 * kMiB);
  (void)must(a, 12 * kMiB);  // to the last byte
  EXPECT_EQ(a.reserved(), 24 * kMiB);
}

TEST(CachingAllocator, BlocksAboveMaxSplitSizeAreKeptWhole) {
  CachingAllocator a({.options = {.max_split_size = 32 * kMiB}});
  const Handle large = must(a, 64 * kMiB);
  a.free(large);
  (void)must(a, 16 * kMiB);  // below the limit: not from a block above it
  EXPECT_EQ(a.reserved(), 80 * kMiB);
  (void)must(a, 44 * kMiB);  // 64 is 20 too many: wasteful
  EXPECT_EQ(a.reserved(), 124 * kMiB);
  EXPECT_EQ(a.size_of(must(a, 46 * kMiB)), 64 * kMiB);  // 18 too many: taken, unsplit
  EXPECT_EQ(a.reserved(), 124 * kMiB);
}

TEST(CachingAllocator, ExpandableSegmentsFragmentLess) {
  const auto reserved = [](bool expandable) {
    CachingAllocator a({.options = {.expandable_segments = expandable}});
    for (const std::int64_t size : {12, 14, 16, 18}) a.free(must(a, size * kMiB));
    return a.reserved();
  };
  EXPECT_EQ(reserved(false), (12 + 14 + 16 + 18) * kMiB);  // none suffices for the next
  EXPECT_EQ(reserved(true), 20 * kMiB);                    // one page of 20 MiB for all
}

TEST(CachingAllocator, ExpandableSegmentsGrowByPages) {
  CachingAllocator a({.options = {.expandable_segments = true}});
  (void)must(a, 12 * kMiB);  // a page of 20; 8 are left at its end
  (void)must(a, 12 * kMiB);  // 4 more are missing: one more page
  EXPECT_EQ(a.reserved(), 40 * kMiB);
  (void)must(a, 16 * kMiB);
  EXPECT_EQ(a.reserved(), 40 * kMiB);
  EXPECT_EQ(a.allocated(), 40 * kMiB);
  (void)must(a, kKiB);
  EXPECT_EQ(a.reserved(), 42 * kMiB);
}

TEST(CachingAllocator, ExpandableSegmentsGiveTheirEndBackUnderPressure) {
  CachingAllocator a({.options = {.expandable_segments = true}, .capacity = 62 * kMiB});
  const Handle kept = must(a, 20 * kMiB), gone = must(a, 40 * kMiB);
  a.free(gone);
  (void)must(a, kMiB);
  EXPECT_EQ(a.reserved(), 62 * kMiB);
  (void)must(a, kMiB);
  (void)must(a, kMiB);  // no room for another page of the small pool: 40 MiB at the end go back
  EXPECT_EQ(a.reserved(), 24 * kMiB);
  a.free(kept);
  (void)must(a, 24 * kMiB);  // the range grows again from the page that is left
  EXPECT_EQ(a.reserved(), 44 * kMiB);
}

TEST(CachingAllocator, WithoutCachingReservedIsAllocated) {
  CachingAllocator a({.caching = false});
  const Handle first = must(a, 1000), second = must(a, 3 * kMiB);
  EXPECT_EQ(a.reserved(), 1024 + 3 * kMiB);
  a.free(second);
  EXPECT_EQ(a.reserved(), 1024);
  a.free(first);
  EXPECT_EQ(a.reserved(), 0);
  EXPECT_EQ(a.peak_reserved(), 1024 + 3 * kMiB);
  EXPECT_EQ(a.peak_allocated(), 1024 + 3 * kMiB);
}

TEST(CachingAllocator, WithoutCachingNothingIsExpandable) {
  CachingAllocator a({.options = {.expandable_segments = true}, .caching = false});
  a.free(must(a, 1000));
  const Handle first = must(a, 512), second = must(a, 512);
  EXPECT_NE(first, second);
  EXPECT_EQ(a.allocated(), 1024);
  EXPECT_EQ(a.reserved(), 1024);
}

TEST(CachingAllocator, SizesBeyondAnyDevice) {
  CachingAllocator unlimited({});
  const std::int64_t huge = (std::int64_t{1} << 60) + 1;
  EXPECT_EQ(unlimited.size_of(must(unlimited, huge)) % (2 * kMiB), 512);  // 2^60 + 512: 2 MiB - 512 split off
  EXPECT_FALSE(unlimited.allocate(std::numeric_limits<std::int64_t>::max()));
  EXPECT_FALSE(unlimited.allocate(std::int64_t{1} << 62));
  // Sums do not overflow: at most seven of 2^60 and a little fit into 2^63.
  int fitted = 1;
  while (fitted < 20 && unlimited.allocate(huge)) ++fitted;
  EXPECT_EQ(fitted, 7);
  EXPECT_GT(unlimited.allocated(), 0);
  CachingAllocator limited({.capacity = kMiB * kMiB});
  EXPECT_FALSE(limited.allocate(huge));
  EXPECT_EQ(limited.reserved(), 0);
}

/// The same rules once more, as plainly as they can be written: lists of blocks, searched from end to end.
class PlainAllocator {
 public:
  explicit PlainAllocator(std::int64_t capacity) : capacity_(capacity) {}

  /// Size of the block that was handed out under this number; -1 where there is no memory.
  std::int64_t allocate(std::int64_t bytes, int number) {
    const std::int64_t size = (std::max<std::int64_t>(bytes, 1) + 511) / 512 * 512;
    const bool small = size <= kMiB;
    auto [segment, at] = find(small, size);
    if (segment == nullptr) {
      const std::int64_t want = small              ? 2 * kMiB
                                : size < 10 * kMiB ? 20 * kMiB
                                                   : (size + 2 * kMiB - 1) / (2 * kMiB) * 2 * kMiB;
      if (reserved() + want > capacity_)
        std::erase_if(segments_,
                      [](const Segment& s) { return s.blocks.size() == 1 && s.blocks[0].number < 0; });
      if (reserved() + want > capacity_) return -1;
      segments_.push_back({small, {{next_, want, -1}}});
      next_ += want;
      segment = &segments_.back();
      at = 0;
    }
    const Block whole = segment->blocks[at];
    const std::int64_t rest = whole.size - size;
    if (small ? rest >= 512 : rest > kMiB) {
      segment->blocks[at].size = size;
      segment->blocks.insert(segment->blocks.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                             {whole.address + size, rest, -1});
    }
    segment->blocks[at].number = number;
    return segment->blocks[at].size;
  }

  void free(int number) {
    for (Segment& s : segments_)
      for (std::size_t i = 0; i < s.blocks.size(); ++i)
        if (s.blocks[i].number == number) {
          s.blocks[i].number = -1;
          if (i + 1 < s.blocks.size() && s.blocks[i + 1].number < 0) join(s, i);
          if (i > 0 && s.blocks[i - 1].number < 0) join(s, i - 1);
          return;
        }
  }

  [[nodiscard]] std::int64_t reserved() const {
    std::int64_t sum = 0;
    for (const Segment& s : segments_)
      for (const Block& b : s.blocks) sum += b.size;
    return sum;
  }

 private:
  struct Block {
    std::int64_t address, size;
    int number;  // -1: free
  };
  struct Segment {
    bool small;
    std::vector<Block> blocks;
  };

  static void join(Segment& s, std::size_t i) {
    s.blocks[i].size += s.blocks[i + 1].size;
    s.blocks.erase(s.blocks.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }

  std::pair<Segment*, std::size_t> find(bool small, std::int64_t size) {
    Segment* best = nullptr;
    std::size_t at = 0;
    for (Segment& s : segments_)
      for (std::size_t i = 0; i < s.blocks.size(); ++i) {
        const Block& b = s.blocks[i];
        if (s.small != small || b.number >= 0 || b.size < size) continue;
        if (best != nullptr &&
            std::pair(best->blocks[at].size, best->blocks[at].address) < std::pair(b.size, b.address))
          continue;
        best = &s;
        at = i;
      }
    return {best, at};
  }

  std::int64_t capacity_, next_ = 0;
  std::vector<Segment> segments_;
};

struct Live {
  Handle handle;
  int number;
  std::int64_t size;
};

std::int64_t some_size(std::mt19937& random) {
  // Spread over the orders of magnitude, so that both pools and all sizes of segments are met.
  const int exponent = std::uniform_int_distribution(0, 24)(random);
  return std::uniform_int_distribution<std::int64_t>(0, std::int64_t{2} << exponent)(random);
}

TEST(CachingAllocator, TwentyThousandRandomOperationsAsThePlainOne) {
  constexpr std::int64_t kCapacity = 600 * kMiB;
  std::mt19937 random(20260101);
  CachingAllocator a({.capacity = kCapacity});
  PlainAllocator plain(kCapacity);
  std::vector<Live> live;
  std::int64_t sum = 0, peak = 0, peak_reserved = 0;
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    const bool frees = !live.empty() && std::uniform_int_distribution(0, 99)(random) < 46;
    if (frees) {
      const std::size_t which = std::uniform_int_distribution<std::size_t>(0, live.size() - 1)(random);
      a.free(live[which].handle);
      plain.free(live[which].number);
      sum -= live[which].size;
      live[which] = live.back();
      live.pop_back();
    } else {
      const std::int64_t bytes = some_size(random);
      const auto handle = a.allocate(bytes);
      const std::int64_t size = plain.allocate(bytes, i);
      ASSERT_EQ(handle.has_value(), size >= 0) << i;
      if (!handle) {
        ++refused;
      } else {
        ASSERT_EQ(a.size_of(*handle), size) << i;
        ASSERT_GE(size, bytes);
        for (const Live& other : live) ASSERT_NE(other.handle, *handle) << i;
        live.push_back({*handle, i, size});
        sum += size;
      }
    }
    ASSERT_EQ(a.allocated(), sum) << i;
    ASSERT_EQ(a.reserved(), plain.reserved()) << i;
    ASSERT_GE(a.reserved(), a.allocated());
    ASSERT_LE(a.reserved(), kCapacity);
    ASSERT_GE(a.peak_allocated(), peak);
    ASSERT_GE(a.peak_reserved(), peak_reserved);
    ASSERT_GE(a.peak_allocated(), a.allocated());
    peak = a.peak_allocated();
    peak_reserved = a.peak_reserved();
  }
  EXPECT_GT(refused, 100);  // the capacity was felt
  EXPECT_GT(live.size(), 100U);
  for (const Live& each : live) {
    ASSERT_EQ(a.size_of(each.handle), each.size);
    a.free(each.handle);
  }
  EXPECT_EQ(a.allocated(), 0);
  EXPECT_EQ(a.peak_allocated(), peak);
  // All segments are whole again: all that is cached can go back at once.
  EXPECT_TRUE(a.allocate(kCapacity));
  EXPECT_EQ(a.reserved(), kCapacity);
}

TEST(CachingAllocator, RandomOperationsOnExpandableSegments) {
  constexpr std::int64_t kCapacity = 400 * kMiB;
  std::mt19937 random(7);
  CachingAllocator a({.options = {.expandable_segments = true}, .capacity = kCapacity});
  std::vector<Live> live;
  std::int64_t sum = 0;
  for (int i = 0; i < 20'000; ++i) {
    if (!live.empty() && std::uniform_int_distribution(0, 99)(random) < 48) {
      const std::size_t which = std::uniform_int_distribution<std::size_t>(0, live.size() - 1)(random);
      ASSERT_EQ(a.size_of(live[which].handle), live[which].size) << i;
      a.free(live[which].handle);
      sum -= live[which].size;
      live[which] = live.back();
      live.pop_back();
    } else if (const std::int64_t bytes = some_size(random); const auto handle = a.allocate(bytes)) {
      for (const Live& other : live) ASSERT_NE(other.handle, *handle) << i;
      // Every block is split to the byte, rounded.
      ASSERT_EQ(a.size_of(*handle), (std::max<std::int64_t>(bytes, 1) + 511) / 512 * 512) << i;
      live.push_back({*handle, i, a.size_of(*handle)});
      sum += live.back().size;
    }
    ASSERT_EQ(a.allocated(), sum) << i;
    ASSERT_GE(a.reserved(), sum) << i;
    ASSERT_LE(a.reserved(), kCapacity) << i;
    ASSERT_EQ(a.reserved() % (2 * kMiB), 0) << i;
  }
  for (const Live& each : live) a.free(each.handle);
  EXPECT_EQ(a.allocated(), 0);
  EXPECT_TRUE(a.allocate(kCapacity));
}

}  // namespace
}  // namespace plimsoll::estimate
