#include <algorithm>

#include "cuda/memory.cuh"
#include "cuda/sampling.hpp"
#include "cuda/studies.hpp"

namespace plimsoll::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocksPerMultiprocessor =
    32;  // several rounds of those that run at once: no SM waits for another
constexpr std::int64_t kKiB = 1024, kMiB = kKiB << 10, kGiB = kMiB << 10;

// Inline assembly, because what the compiler makes of a plain load decides what is measured: it may take a
// load out of a loop, and caches it in the L1 or not as it likes.

/// Past the L1, which holds nothing from one kernel to the next: what a network's working set meets.
__device__ float4 load(const float4* from) {
  float4 x;
  asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w)
               : "l"(from));
  return x;
}
__device__ float4 load_near(const float4* from) {
  float4 x;
  asm volatile("ld.global.ca.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w)
               : "l"(from));
  return x;
}
__device__ void store(float4* to, float4 x) {
  asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(x.x), "f"(x.y), "f"(x.z), "f"(x.w)
               : "memory");
}
__device__ float4 times_and(float factor, float4 x, float4 y) {
  return make_float4(fmaf(factor, x.x, y.x), fmaf(factor, x.y, y.y), fmaf(factor, x.z, y.z),
                     fmaf(factor, x.w, y.w));
}

/// `factor` keeps triads from growing: a number that the compiler does not know.
template <Access access>
__global__ void __launch_bounds__(kThreads)
    sweep(const float4* a, const float4* b, float4* c, Sweep way, float factor, float* sink) {
  const std::uint32_t thread = blockIdx.x * kThreads + threadIdx.x;
  std::uint32_t at = thread % way.items;
  float4 sum = make_float4(0, 0, 0, 0);
  for (std::uint32_t step = 0; step < way.steps; step += kSweepUnroll) {
    std::uint32_t places[kSweepUnroll];
#pragma unroll
    for (std::uint32_t i = 0; i < kSweepUnroll; ++i) {
      places[i] = at;
      at += way.step;
      if (at >= way.items) at -= way.items;
    }
    float4 x[kSweepUnroll], y[kSweepUnroll];
#pragma unroll
    for (std::uint32_t i = 0; i < kSweepUnroll; ++i) {
      if constexpr (access == Access::write)
        x[i] = make_float4(factor, factor, factor, factor);
      else if constexpr (access == Access::read_near)
        x[i] = load_near(a + places[i]);
      else
        x[i] = load(a + places[i]);
      if constexpr (access == Access::triad) y[i] = load(b + places[i]);
    }
#pragma unroll
    for (std::uint32_t i = 0; i < kSweepUnroll; ++i) {
      if constexpr (access == Access::read || access == Access::read_near)
        sum = times_and(1, x[i], sum);
      else if constexpr (access == Access::triad)
        store(c + places[i], times_and(factor, x[i], y[i]));
      else
        store(c + places[i], x[i]);
    }
  }
  // Never true, which the compiler cannot know: what was read is needed.
  if (sum.x + sum.y + sum.z + sum.w == -factor) *sink = sum.x;
}

int multiprocessors() {
  int device = 0, count = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device), "cudaDeviceGetAttribute");
  return count;
}

}  // namespace

std::int64_t sweeping_threads() {
  return static_cast<std::int64_t>(multiprocessors()) * kBlocksPerMultiprocessor * kThreads;
}

MemorySweep::MemorySweep(const AccessRow& row, std::int64_t working_set, std::int64_t least_bytes,
                         const Stream& stream)
    : row_(row),
      threads_(sweeping_threads()),
      sweep_(sweep_over(working_set / row.arrays, row.arrays, threads_, least_bytes)),
      sink_(allocate_on_device(sizeof(float))) {
  const std::int64_t bytes = static_cast<std::int64_t>(sweep_.items) * kSweepItem;
  for (int i = 0; i < row.arrays; ++i) {
    arrays_[i] = allocate_on_device(bytes);
    check(cudaMemsetAsync(arrays_[i].get(), 0, static_cast<std::size_t>(bytes), stream.get()), "cudaMemset");
  }
}

void MemorySweep::launch(const Stream& stream) const {
  const auto blocks = static_cast<unsigned>(threads_ / kThreads);
  // What is written is the last array; what is read, the others.
  const auto* a = arrays_[0].as<float4>();
  const auto* b = arrays_[1].as<float4>();
  auto* c = arrays_[row_.arrays - 1].as<float4>();
  auto* sink = sink_.as<float>();
  const auto go = [&](auto kernel) {
    kernel<<<blocks, kThreads, 0, stream.get()>>>(a, b, c, sweep_, 0.5F, sink);
    check_launch(row_.name);
  };
  switch (row_.access) {
    case Access::read: return go(sweep<Access::read>);
    case Access::read_near: return go(sweep<Access::read_near>);
    case Access::write: return go(sweep<Access::write>);
    case Access::copy: return go(sweep<Access::copy>);
    case Access::triad: return go(sweep<Access::triad>);
  }
}

double MemorySweep::bytes_per_launch() const {
  return sweep_.passes * static_cast<double>(sweep_.items) * kSweepItem * row_.arrays;
}

Rate measure_device_copy(std::int64_t bytes) {
  const Stream stream;
  const DeviceMemory from = allocate_on_device(bytes), to = allocate_on_device(bytes);
  const auto size = static_cast<std::size_t>(bytes);
  check(cudaMemsetAsync(from.get(), 0, size, stream.get()), "cudaMemset");
  check(cudaMemsetAsync(to.get(), 0, size, stream.get()), "cudaMemset");
  DeviceStopwatch stopwatch(stream);
  const double both = 2 * static_cast<double>(bytes);
  return {"memory-device-copy", "B/s", both, both, sample({}, [&](std::int64_t calls) {
            return stopwatch.time(calls, [&] {
              check(cudaMemcpyAsync(to.get(), from.get(), size, cudaMemcpyDeviceToDevice, stream.get()),
                    "cudaMemcpy within the device");
            });
          })};
}

void measure_memory(const Emit& emit, const Phase& phase) {
  constexpr std::int64_t kSmallest = 64 * kKiB, kLargest = 4 * kGiB;
  constexpr std::int64_t kLeastPerLaunch = kGiB;  // so that beginning and end of a launch do not count
  const std::int64_t most = device_memory().free / 2;
  if (most < kLargest)
    emit(Remark{left_out("memory bandwidth at the largest working sets", kLargest, most * 2, "the GPU")});
  const Stream stream;
  DeviceStopwatch stopwatch(stream);
  for (const AccessRow& row : kAccesses)
    for (const std::int64_t set : sizes_between(kSmallest, kLargest, 2, most)) {
      phase(phase_of(row.name, static_cast<double>(set)));
      const MemorySweep arrays(row, set, kLeastPerLaunch, stream);
      emit(Rate{row.name, "B/s", arrays.bytes_per_launch(), static_cast<double>(set),
                sample({}, [&](std::int64_t calls) {
                  return stopwatch.time(calls, [&] { arrays.launch(stream); });
                })});
    }
  for (const std::int64_t set : sizes_between(kSmallest, kLargest, 4, most)) {
    phase(phase_of("memory-device-copy", static_cast<double>(set)));
    emit(measure_device_copy(set / 2));
  }
}

}  // namespace plimsoll::cuda
