#pragma once
#include <atomic>
#include <cstdint>

namespace plimsoll::engine {

/// Bytes of CPU tensors: LibTorch's own allocator with a counter around it.
struct CpuBytes {
  std::atomic<std::int64_t> allocated = 0;
  std::atomic<std::int64_t> peak = 0;
};

/// Puts the counter in place, once; LibTorch keeps allocators for the life of the process, so it is never
/// taken out.
[[nodiscard]] CpuBytes& count_cpu_bytes();

}  // namespace plimsoll::engine
