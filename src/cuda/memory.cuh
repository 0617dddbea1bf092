#pragma once
#include "cuda/runtime.cuh"
#include "cuda/study_sizes.hpp"

namespace plimsoll::cuda {

/// What the kernels below do with 16 bytes of each array at a time.
enum class Access { read, read_near, write, copy, triad };

struct AccessRow {
  Access access;
  const char* name;  ///< of the rate
  int arrays;        ///< each read or written once: bytes moved are those of all of them
};
inline constexpr AccessRow kAccesses[] = {{Access::read, "memory-read", 1},
                                          {Access::read_near, "memory-read-l1", 1},
                                          {Access::write, "memory-write", 1},
                                          {Access::copy, "memory-copy", 2},
                                          {Access::triad, "memory-triad", 3}};

/// Threads of a grid that fills the current device.
[[nodiscard]] std::int64_t sweeping_threads();

/// Arrays of one working set, and a grid that goes over them.
class MemorySweep {
 public:
  /// `working_set`: bytes of all arrays together; `least_bytes`: that one launch moves.
  MemorySweep(const AccessRow& row, std::int64_t working_set, std::int64_t least_bytes, const Stream& stream);
  void launch(const Stream& stream) const;
  [[nodiscard]] double bytes_per_launch() const;

 private:
  AccessRow row_;
  std::int64_t threads_;
  Sweep sweep_;
  DeviceMemory arrays_[3], sink_;
};

}  // namespace plimsoll::cuda
