#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "cuda/library_product.cuh"
#include "cuda/matrix_kernels.cuh"
#include "cuda/random_numbers.cuh"
#include "cuda/sampling.hpp"
#include "cuda/studies.hpp"
#include "cuda/study_sizes.hpp"

namespace plimsoll::cuda {
namespace {

constexpr std::uint32_t kSeedA = 11, kSeedB = 12;
constexpr int kSpots = 64;
/// Of the largest value. A sum that lacks one of 8192 terms is off by twenty times as much.
constexpr double kTolerance = 1e-4;
constexpr Sampling kSampling{
    .samples = 11, .least_seconds = 1e-3, .warm_up_seconds = 0.05, .most_seconds = 3};
/// What sample() needs of something slow: two calls before the first that counts.
constexpr double kCallsAtLeast = 3;

/// Floats of 0 and more are ordered as their bits are.
__device__ void raise(unsigned* largest, float value) {
  atomicMax(largest, __float_as_uint(value));
}

/// The largest difference, infinity where one is no number, and the largest reference.
__global__ void compare(const float* results, const float* reference, std::int64_t count, unsigned* largest) {
  float difference = 0, value = 0;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    const float apart = fabsf(results[i] - reference[i]);
    difference = apart <= difference ? difference : (apart < INFINITY ? apart : INFINITY);
    value = fmaxf(value, fabsf(reference[i]));
  }
  raise(largest, difference);
  raise(largest + 1, value);
}

double share(double difference, double largest) {
  return largest > 0 && std::isfinite(difference) ? difference / largest
                                                  : std::numeric_limits<double>::infinity();
}

class Study {
 public:
  Study(std::int64_t size, const Emit& emit, double& seconds_per_step)
      : size_(size),
        emit_(&emit),
        seconds_per_step_(&seconds_per_step),
        library_(row_of(Number::fp32), size, false) {
    const std::int64_t count = size * size;
    for (DeviceMemory* matrix : {&a_, &b_, &result_, &reference_})
      *matrix = allocate_on_device(count * static_cast<std::int64_t>(sizeof(float)));
    largest_ = allocate_on_device(2 * sizeof(unsigned));
    fill_randomly(a_.as<float>(), count, kSeedA, stream_);
    fill_randomly(b_.as<float>(), count, kSeedB, stream_);
    // cuBLASLt thinks in columns: what it takes for b' a' is a b by rows.
    library_.choose(b_.get(), a_.get(), reference_.get(), stream_);
    library_.launch(b_.get(), a_.get(), reference_.get(), stream_);
    stream_.wait();
  }
  [[nodiscard]] static std::int64_t bytes(std::int64_t size) { return 4 * size * size * 4; }

  void measure(Method method) {
    const auto n = static_cast<double>(size_);
    const double steps = n * n * n;
    if (method == Method::naive && steps * *seconds_per_step_ * kCallsAtLeast > kLongestStep)
      return (*emit_)(Remark{left_out_as_slow(phase_of(method, size_))});
    check(cudaMemsetAsync(result_.get(), 0xff, static_cast<std::size_t>(size_ * size_) * sizeof(float),
                          stream_.get()),
          "cudaMemset");
    MatrixProduct found{method, size_, {}, moved_bytes(method), 0, false, {}};
    if (method == Method::library)
      found.library = "cuBLASLt " + version_text(static_cast<std::int64_t>(cublasLtGetVersion()), 10000, 100);
    found.samples = sample(
        kSampling, [&](std::int64_t calls) { return stopwatch_.time(calls, [&] { multiply(method); }); });
    if (method == Method::naive)
      *seconds_per_step_ = *std::min_element(found.samples.begin(), found.samples.end()) / steps;
    found.largest_error = method == Method::library ? std::max(spot_error(), error()) : error();
    found.right = found.largest_error <= kTolerance;
    (*emit_)(found);
  }

 private:
  void multiply(Method method) {
    auto* c = result_.as<float>();
    switch (method) {
      case Method::naive:
        return multiply_naively(a_.as<float>(), b_.as<float>(), c, static_cast<int>(size_), stream_);
      case Method::blocked:
        return multiply_by_blocks(a_.as<float>(), b_.as<float>(), c, static_cast<int>(size_), stream_);
      case Method::library: return library_.launch(b_.get(), a_.get(), c, stream_);
    }
  }
  [[nodiscard]] double moved_bytes(Method method) const {
    switch (method) {
      case Method::naive: return naive_bytes(size_);
      case Method::blocked: return blocked_bytes(size_, kTile);
      case Method::library: break;
    }
    return library_bytes(size_);
  }

  /// Against the library's, every element.
  double error() {
    check(cudaMemsetAsync(largest_.get(), 0, 2 * sizeof(unsigned), stream_.get()), "cudaMemset");
    compare<<<1024, 256, 0, stream_.get()>>>(result_.as<float>(), reference_.as<float>(), size_ * size_,
                                             largest_.as<unsigned>());
    check_launch("comparing matrices");
    stream_.wait();
    float found[2] = {};
    check(cudaMemcpy(found, largest_.get(), sizeof found, cudaMemcpyDeviceToHost), "cudaMemcpy");
    return share(found[0], found[1]);
  }

  /// The library's, at some places, against sums in double on the host.
  double spot_error() {
    double difference = 0, largest = 0;
    const auto n = static_cast<std::uint64_t>(size_);
    for (std::uint64_t spot = 0; spot < kSpots; ++spot) {
      const std::uint64_t row = spot * 2654435761U % n, column = (spot * 40503U + 7) % n;
      double sum = 0;
      for (std::uint64_t k = 0; k < n; ++k)
        sum += static_cast<double>(random_number(row * n + k, kSeedA)) *
               static_cast<double>(random_number(k * n + column, kSeedB));
      float result = 0;
      check(cudaMemcpy(&result, reference_.as<float>() + row * n + column, sizeof result,
                       cudaMemcpyDeviceToHost),
            "cudaMemcpy");
      const double apart = std::fabs(static_cast<double>(result) - sum);
      if (!(apart <= difference))
        difference = std::isnan(apart) ? std::numeric_limits<double>::infinity() : apart;
      largest = std::max(largest, std::fabs(sum));
    }
    return share(difference, largest);
  }

  std::int64_t size_;
  const Emit* emit_;
  double* seconds_per_step_;  // of the naive one; a step is a multiply-add
  Stream stream_;
  DeviceStopwatch stopwatch_{stream_};
  LibraryProduct library_;
  DeviceMemory a_, b_, result_, reference_, largest_;
};

}  // namespace

void study_matrix_product(const Job& job, const Emit& emit) {
  constexpr Method kMethods[] = {Method::naive, Method::blocked, Method::library};
  const auto steps = static_cast<double>(job.sizes.size() * std::size(kMethods));
  double step = 0, seconds_per_step = 0;
  for (const std::int64_t size : job.sizes) {
    const std::int64_t free = device_memory().free;
    if (Study::bytes(size) > free / 2) {
      emit(
          Remark{left_out("matrix product of " + std::to_string(size), Study::bytes(size), free, "the GPU")});
      continue;
    }
    emit(Progress{phase_of(kMethods[0], size), step / steps});
    Study study(size, emit, seconds_per_step);
    for (const Method method : kMethods) {
      emit(Progress{phase_of(method, size), step++ / steps});
      study.measure(method);
    }
  }
}

}  // namespace plimsoll::cuda
