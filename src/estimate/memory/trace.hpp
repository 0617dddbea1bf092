#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "estimate/memory/allocator.hpp"

namespace plimsoll::estimate {

/// What a program asked PyTorch's allocator for, as plimsoll_torch writes it from a memory snapshot.
struct AllocationTrace {
  struct Event {
    bool allocates = false;  ///< else it frees
    std::uint64_t address = 0;
    std::int64_t bytes = 0;
  };
  std::vector<Event> events;
  std::vector<std::uint64_t> segments;  ///< addresses of new segments, in order
  bool expandable_segments = false;
  std::int64_t max_split_size = -1;  ///< bytes; -1: no limit
  // What PyTorch itself measured, where the trace says so.
  std::optional<std::int64_t> peak_allocated, peak_reserved;
  std::int64_t reserved_before = 0;  ///< held when the recording began; the replay knows nothing of it
  std::string device, torch;
};

/// Reads `{"version": 1, "events": [["alloc", address, bytes, stream], …], …}`. One stream only.
[[nodiscard]] Result<AllocationTrace> read_trace(std::string_view contents);

struct TraceReplay {
  std::int64_t peak_allocated = 0;
  std::int64_t peak_reserved = 0;
  std::size_t peak_event = 0;         ///< in events
  std::optional<std::size_t> failed;  ///< event that found no memory
  std::size_t unmatched_frees = 0;    ///< of what was allocated before the recording began
};
/// The same allocator settings as the trace's, unless others are given.
[[nodiscard]] TraceReplay replay(const AllocationTrace& trace, const AllocatorSettings& settings);
[[nodiscard]] AllocatorSettings settings_of(const AllocationTrace& trace);

}  // namespace plimsoll::estimate
