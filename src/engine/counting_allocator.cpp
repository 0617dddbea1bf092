#include "engine/counting_allocator.hpp"

#include <cstring>

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>
#include <torch/csrc/api/include/torch/version.h>

namespace plimsoll::engine {
namespace {

CpuBytes counted;

/// In front of every block stands its size, in as many bytes as LibTorch aligns blocks to.
constexpr std::size_t kFront = 64;

void release(void* data) {
  if (data == nullptr) return;
  char* front = static_cast<char*>(data) - kFront;
  std::int64_t bytes = 0;
  std::memcpy(&bytes, front, sizeof bytes);
  counted.allocated -= bytes;
  c10::free_cpu(front);
}

at::DataPtr take(std::size_t size) {
  if (size == 0) return {nullptr, nullptr, &release, at::Device(at::kCPU)};
  char* front = static_cast<char*>(c10::alloc_cpu(size + kFront));
  const auto bytes = static_cast<std::int64_t>(size);
  std::memcpy(front, &bytes, sizeof bytes);
  const std::int64_t now = counted.allocated += bytes;
  std::int64_t peak = counted.peak;
  while (now > peak && !counted.peak.compare_exchange_weak(peak, now)) {
  }
  void* data = front + kFront;
  // Data and context must be the same: libraries below ask for bare memory.
  return {data, data, &release, at::Device(at::kCPU)};
}

class CountingAllocator final : public at::Allocator {
 public:
#if TORCH_VERSION_MAJOR >= 2
  at::DataPtr allocate(std::size_t size) override { return take(size); }
  void copy_data(void* to, const void* from, std::size_t size) const override { std::memcpy(to, from, size); }
#else
  at::DataPtr allocate(std::size_t size) const override { return take(size); }
#endif
  at::DeleterFnPtr raw_deleter() const override { return &release; }
};

}  // namespace

CpuBytes& count_cpu_bytes() {
  static CountingAllocator allocator;
  c10::SetCPUAllocator(&allocator, /*priority=*/100);
  return counted;
}

}  // namespace plimsoll::engine
