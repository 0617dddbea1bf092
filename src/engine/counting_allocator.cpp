#include "engine/counting_allocator.hpp"

#include <cstring>

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <torch/csrc/api/include/torch/version.h>

namespace plimsoll::engine {
namespace {

struct Block {
  at::DataPtr memory;
  std::int64_t bytes;
  CpuBytes* counter;
};

void release(void* context) {
  auto* block = static_cast<Block*>(context);
  block->counter->allocated -= block->bytes;
  delete block;
}

class CountingAllocator final : public at::Allocator {
 public:
  explicit CountingAllocator(at::Allocator* inner) : inner_(inner) {}

#if TORCH_VERSION_MAJOR >= 2
  at::DataPtr allocate(std::size_t size) override { return counted(size); }
  void copy_data(void* to, const void* from, std::size_t size) const override { std::memcpy(to, from, size); }
#else
  at::DataPtr allocate(std::size_t size) const override { return counted(size); }
#endif

  CpuBytes bytes;

 private:
  at::DataPtr counted(std::size_t n) const {
    auto* counter = const_cast<CpuBytes*>(&bytes);
    auto* block = new Block{inner_->allocate(n), static_cast<std::int64_t>(n), counter};
    const std::int64_t now = counter->allocated += block->bytes;
    std::int64_t peak = counter->peak;
    while (now > peak && !counter->peak.compare_exchange_weak(peak, now)) {
    }
    void* data = block->memory.get();
    return {data, block, &release, at::Device(at::kCPU)};
  }

  at::Allocator* inner_;
};

}  // namespace

CpuBytes& count_cpu_bytes() {
  static auto* allocator = [] {
    auto* made = new CountingAllocator(c10::GetCPUAllocator());
    c10::SetCPUAllocator(made, /*priority=*/100);
    return made;
  }();
  return allocator->bytes;
}

}  // namespace plimsoll::engine
