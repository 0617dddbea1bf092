#include <chrono>
#include <limits>
#include <map>
#include <memory>

#include "cuda/host_arrays.hpp"
#include "cuda/runtime.cuh"
#include "cuda/sampling.hpp"
#include "cuda/studies.hpp"
#include "cuda/study_sizes.hpp"

namespace plimsoll::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWidth = 4;  // floats that one instruction loads

/// All of it by one block, of one thread or of many.
__global__ void add_in_one_block(const float* __restrict__ a, const float* __restrict__ b,
                                 float* __restrict__ c, std::int64_t count) {
  for (std::int64_t i = threadIdx.x; i < count; i += blockDim.x) c[i] = a[i] + b[i];
}

/// Four neighbours by each thread: with one each, too few loads are under way to keep the memory busy.
__global__ void __launch_bounds__(kThreads)
    add_in_many_blocks(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
                       std::int64_t count) {
  const std::int64_t first = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) * kWidth;
  if (first + kWidth <= count) {
    const float4 x = *reinterpret_cast<const float4*>(a + first);
    const float4 y = *reinterpret_cast<const float4*>(b + first);
    *reinterpret_cast<float4*>(c + first) = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
    return;
  }
  for (std::int64_t i = first; i < count; ++i) c[i] = a[i] + b[i];
}

struct Arrays {
  Memory<cudaFree> a, b, c;
};

void add(const Arrays& arrays, std::int64_t count, Workers workers, const Stream& stream) {
  const auto* a = arrays.a.as<float>();
  const auto* b = arrays.b.as<float>();
  auto* c = arrays.c.as<float>();
  if (workers == Workers::many_blocks) {
    const std::int64_t blocks = (count + kThreads * kWidth - 1) / (kThreads * kWidth);
    add_in_many_blocks<<<static_cast<unsigned>(blocks), kThreads, 0, stream.get()>>>(a, b, c, count);
  } else {
    add_in_one_block<<<1, workers == Workers::one_block ? kThreads : 1, 0, stream.get()>>>(a, b, c, count);
  }
  check_launch("vector add");
}

/// To the device, or (-1) to the host.
void prefetch(const Memory<cudaFree>& memory, std::int64_t bytes, int device, const Stream& stream) {
#if CUDART_VERSION >= 13000
  const cudaMemLocation where{device < 0 ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice,
                              device < 0 ? 0 : device};
  check(cudaMemPrefetchAsync(memory.get(), static_cast<std::size_t>(bytes), where, 0, stream.get()),
        "cudaMemPrefetchAsync");
#else
  check(cudaMemPrefetchAsync(memory.get(), static_cast<std::size_t>(bytes),
                             device < 0 ? cudaCpuDeviceId : device, stream.get()),
        "cudaMemPrefetchAsync");
#endif
}

/// Arrays of the host that a study with explicit copies begins and ends with.
class HostArrays {
 public:
  explicit HostArrays(std::int64_t count)
      : count_(count), a_(new float[count]), b_(new float[count]), c_(new float[count]) {
    fill_summands(a_.get(), b_.get(), count, kSeed);
    forget();
  }
  /// No number is left in the sums.
  void forget() {
    float* c = c_.get();
    in_parallel(count_, [c](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) c[i] = std::numeric_limits<float>::quiet_NaN();
    });
  }
  [[nodiscard]] const float* a() const { return a_.get(); }
  [[nodiscard]] const float* b() const { return b_.get(); }
  [[nodiscard]] float* c() const { return c_.get(); }
  [[nodiscard]] bool right() const { return all_sums_right(c_.get(), count_, kSeed); }

 private:
  static constexpr std::uint32_t kSeed = 1;
  std::int64_t count_;
  std::unique_ptr<float[]> a_, b_, c_;
};

/// One repetition's times, by part in the order in which they were.
class Times {
 public:
  /// Seconds of what is done by the host, or waited for by it.
  template <class Work>
  void host(const char* part, Work work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    add(part, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  void add(const char* part, double seconds) {
    parts_.emplace_back(part, seconds);
    total_ += seconds;
  }
  void append_to(std::vector<Part>& parts) const {
    if (parts.empty()) {
      for (const auto& [name, seconds] : parts_) parts.push_back({name, {}});
      parts.push_back({"total", {}});
    }
    for (std::size_t i = 0; i < parts_.size(); ++i) parts[i].samples.push_back(parts_[i].second);
    parts.back().samples.push_back(total_);
  }

 private:
  std::vector<std::pair<const char*, double>> parts_;
  double total_ = 0;
};

class Study {
 public:
  Study(const Job& job, const Emit& emit) : job_(&job), emit_(&emit) {
    int concurrent = 0;
    check(cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, job.device),
          "cudaDeviceGetAttribute");
    prefetches_ = concurrent != 0;
    // The kernels' code is loaded when they are launched first.
    const Arrays few = allocate(Place::copies, 1);
    for (const Workers workers : kWorkers) sum(few, 1, workers);
  }

  void run() {
    if (!prefetches_) say("managed memory cannot be prefetched on this machine: left out");
    const auto steps = static_cast<double>(job_->elements.size() * std::size(kPlaces) * std::size(kWorkers));
    double step = 0;
    for (const std::int64_t count : job_->elements) {
      if (!fits(count)) continue;
      std::unique_ptr<HostArrays> host;
      for (const Place place : kPlaces) {
        host = place == Place::copies ? std::make_unique<HostArrays>(count) : nullptr;
        for (const Workers workers : kWorkers) {
          (*emit_)(Progress{phase_of(place, workers, count), step++ / steps});
          attempt(place, workers, count, host.get());
        }
      }
      compare_with_copy(count);
    }
  }

 private:
  static constexpr Place kPlaces[] = {Place::copies, Place::managed, Place::managed_prefetch};
  static constexpr Workers kWorkers[] = {Workers::one_thread, Workers::one_block, Workers::many_blocks};
  static constexpr std::int64_t kTelling = 1'000'000;  // elements from which on the time per element is one
  static constexpr double kFill = 0.9;                 // of what is free: the driver needs some for itself

  static std::int64_t array_bytes(std::int64_t count) {
    return count * static_cast<std::int64_t>(sizeof(float));
  }

  /// Managed memory beyond what the device has free would be moved to and fro without end; so it is left
  /// out as that of explicit copies is. The host holds the arrays either way.
  bool fits(std::int64_t count) const {
    const std::int64_t needs = 3 * array_bytes(count);
    const std::int64_t device = device_memory().free, host = host_memory_available();
    const bool on_device = static_cast<double>(needs) <= kFill * static_cast<double>(device);
    const bool on_host = host == 0 || static_cast<double>(needs) <= kFill * static_cast<double>(host);
    if (!on_device) say(left_out(phase_of(count), needs, device, "the GPU"));
    if (on_device && !on_host) say(left_out(phase_of(count), needs, host, "the host"));
    return on_device && on_host;
  }
  void say(const std::string& text) const { (*emit_)(Remark{text}); }

  Arrays allocate(Place place, std::int64_t count) const {
    const auto one = place == Place::copies ? allocate_on_device : allocate_managed;
    const std::int64_t bytes = array_bytes(count);
    return {one(bytes), one(bytes), one(bytes)};
  }

  double sum(const Arrays& arrays, std::int64_t count, Workers workers) {
    stopwatch_.begin();
    add(arrays, count, workers, stream_);
    const double seconds = stopwatch_.end();
    if (workers == Workers::one_thread && count >= kTelling)
      seconds_per_element_ = seconds / static_cast<double>(count);
    return seconds;
  }

  /// With arrays that the host and the device have each.
  bool repeat_with_copies(std::int64_t count, Workers workers, HostArrays& host, Times& times) {
    const auto bytes = static_cast<std::size_t>(array_bytes(count));
    Arrays arrays;
    times.host("allocate", [&] { arrays = allocate(Place::copies, count); });
    // What an earlier repetition left at the same place must not pass for this one's result.
    check(cudaMemsetAsync(arrays.c.get(), 0xff, bytes, stream_.get()), "cudaMemset");
    stream_.wait();
    host.forget();
    times.host("copy in", [&] {
      check(cudaMemcpy(arrays.a.get(), host.a(), bytes, cudaMemcpyHostToDevice), "cudaMemcpy to the device");
      check(cudaMemcpy(arrays.b.get(), host.b(), bytes, cudaMemcpyHostToDevice), "cudaMemcpy to the device");
      check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    });
    times.add("kernel", sum(arrays, count, workers));
    times.host("copy out", [&] {
      check(cudaMemcpy(host.c(), arrays.c.get(), bytes, cudaMemcpyDeviceToHost), "cudaMemcpy to the host");
    });
    return host.right();
  }

  /// With arrays that move by themselves, when first touched or before. Filling them on the host is no part
  /// of the figures, as with explicit copies. The host then reads one number of every page, which brings the
  /// sums back: else what the kernel's price does not hold would appear nowhere.
  bool repeat_with_managed(std::int64_t count, Workers workers, bool ahead, Times& times) {
    const std::int64_t bytes = array_bytes(count);
    const std::uint32_t seed = ++seed_;
    Arrays arrays;
    times.host("allocate", [&] { arrays = allocate(Place::managed, count); });
    fill_summands(arrays.a.as<float>(), arrays.b.as<float>(), count, seed);
    if (ahead)
      times.host("copy in", [&] {
        prefetch(arrays.a, bytes, job_->device, stream_);
        prefetch(arrays.b, bytes, job_->device, stream_);
        prefetch(arrays.c, bytes, job_->device, stream_);
        stream_.wait();
      });
    times.add("kernel", sum(arrays, count, workers));
    times.host("copy out", [&] {
      if (ahead) {
        prefetch(arrays.c, bytes, -1, stream_);
        stream_.wait();
      }
      touched_ = touched_ + touch_pages(arrays.c.as<float>(), count);
    });
    return all_sums_right(arrays.c.as<float>(), count, seed);
  }

  bool repeat(Place place, std::int64_t count, Workers workers, HostArrays* host, Times& times) {
    return place == Place::copies
               ? repeat_with_copies(count, workers, *host, times)
               : repeat_with_managed(count, workers, place == Place::managed_prefetch, times);
  }

  void attempt(Place place, Workers workers, std::int64_t count, HostArrays* host) {
    if (place == Place::managed_prefetch && !prefetches_) return;
    if (workers == Workers::one_thread && takes_too_long(count, seconds_per_element_))
      return say(left_out_as_slow(phase_of(place, workers, count)));
    try {
      measure(place, workers, count, host);
    } catch (const OutOfMemory& error) {
      say(phase_of(place, workers, count) + " was left out: " + error.what());
    }
  }

  void measure(Place place, Workers workers, std::int64_t count, HostArrays* host) {
    VectorAdd found{place, workers, count, {}, true};
    const auto begin = std::chrono::steady_clock::now();
    {
      Times first;
      found.right = repeat(place, count, workers, host, first);
      first.append_to(found.parts);
    }
    const double whole = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const Repetitions repetitions = repetitions_after(whole);
    if (repetitions.drop_first) found.parts.clear();
    for (int i = 0; i < repetitions.more; ++i) {
      Times times;
      found.right = repeat(place, count, workers, host, times) && found.right;
      times.append_to(found.parts);
    }
    (*emit_)(found);
  }

  /// What the memory gives to a plain copy and to the same kernel again and again, right after: the measure
  /// of the kernel by many blocks.
  void compare_with_copy(std::int64_t count) {
    const std::int64_t bytes = array_bytes(count);
    if (static_cast<double>(3 * bytes) > kFill * static_cast<double>(device_memory().free)) return;
    (*emit_)(measure_device_copy(bytes));
    const Arrays arrays = allocate(Place::copies, count);
    for (const auto* array : {&arrays.a, &arrays.b, &arrays.c})
      check(cudaMemsetAsync(array->get(), 0, static_cast<std::size_t>(bytes), stream_.get()), "cudaMemset");
    const auto all = 3 * static_cast<double>(bytes);
    (*emit_)(Rate{"memory-add", "B/s", all, all, sample({}, [&](std::int64_t calls) {
                    return stopwatch_.time(calls, [&] { add(arrays, count, Workers::many_blocks, stream_); });
                  })});
  }

  const Job* job_;
  const Emit* emit_;
  Stream stream_;
  DeviceStopwatch stopwatch_{stream_};
  bool prefetches_ = false;
  std::uint32_t seed_ = 100;
  double seconds_per_element_ = kSlowestSecondsPerItem;
  volatile float touched_ = 0;  // so that reading is not left away
};

}  // namespace

void study_vector_add(const Job& job, const Emit& emit) {
  Study(job, emit).run();
}

}  // namespace plimsoll::cuda
