#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>

#include "cuda/host_arrays.hpp"
#include "cuda/runtime.cuh"
#include "cuda/sampling.hpp"
#include "cuda/studies.hpp"
#include "cuda/study_sizes.hpp"

namespace plimsoll::cuda {
namespace {

constexpr std::int64_t kSmallest = 4 << 10, kLargest = std::int64_t{1} << 30;

/// One copy to its end, as a program sees it that waits for it: what it costs to begin is part of it.
std::vector<double> sample_copy(void* to, const void* from, std::int64_t bytes, cudaMemcpyKind kind,
                                const Stream& stream) {
  return sample({}, [&](std::int64_t calls) {
    const auto begin = std::chrono::steady_clock::now();
    for (std::int64_t i = 0; i < calls; ++i) {
      check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), kind, stream.get()),
            "cudaMemcpyAsync");
      stream.wait();
    }
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  });
}

struct Names {
  const char* to_device;
  const char* to_host;
};

void measure_between(void* host, void* device, std::int64_t most, const Names& names, const Stream& stream,
                     const Emit& emit, const Phase& phase) {
  for (const std::int64_t bytes : sizes_between(kSmallest, kLargest, 4, most)) {
    const auto size = static_cast<double>(bytes);
    phase(phase_of(names.to_device, size));
    emit(Rate{names.to_device, "B/s", size, size,
              sample_copy(device, host, bytes, cudaMemcpyHostToDevice, stream)});
    phase(phase_of(names.to_host, size));
    emit(Rate{names.to_host, "B/s", size, size,
              sample_copy(host, device, bytes, cudaMemcpyDeviceToHost, stream)});
  }
}

/// Pages that are there: the first touch is the kernel's work, not the copy's.
void touch(unsigned char* memory, std::int64_t bytes) {
  in_parallel(bytes, [memory](std::int64_t begin, std::int64_t end) {
    std::memset(memory + begin, 1, static_cast<std::size_t>(end - begin));
  });
}

/// The largest size that both have room for, twice over. What the host has may be unknown.
std::int64_t largest(const Emit& emit) {
  const std::int64_t host = host_memory_available(), device = device_memory().free;
  const bool host_is_less = host > 0 && host < device;
  const std::int64_t free = host_is_less ? host : device;
  if (free / 2 < kLargest)
    emit(Remark{
        left_out("copies of the largest sizes", 2 * kLargest, free, host_is_less ? "the host" : "the GPU")});
  const auto sizes = sizes_between(kSmallest, kLargest, 4, free / 2);
  return sizes.empty() ? 0 : sizes.back();
}

}  // namespace

void measure_copies(const Emit& emit, const Phase& phase) {
  const std::int64_t most = largest(emit);
  if (most == 0) return;
  const Stream stream;
  const DeviceMemory device = allocate_on_device(most);
  {
    const std::unique_ptr<unsigned char[]> pageable(new unsigned char[static_cast<std::size_t>(most)]);
    touch(pageable.get(), most);
    measure_between(pageable.get(), device.get(), most, {"copy-to-device-pageable", "copy-to-host-pageable"},
                    stream, emit, phase);
  }
  try {
    const PinnedMemory pinned = allocate_pinned(most);
    touch(pinned.as<unsigned char>(), most);
    measure_between(pinned.get(), device.get(), most, {"copy-to-device-pinned", "copy-to-host-pinned"},
                    stream, emit, phase);
  } catch (const OutOfMemory& error) {
    emit(Remark{std::string("copies of pinned memory were left out: ") + error.what()});
  }
}

}  // namespace plimsoll::cuda
