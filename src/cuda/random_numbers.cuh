#pragma once
#include <cstdint>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "cuda/runtime.cuh"

/// Numbers that host and device make alike, each from its place alone.
namespace plimsoll::cuda {

/// About normal, with the variance 1 and nothing beyond ±3.5: the sum of the four bytes of a hash (Murmur3's
/// last steps), as far from its mean as it is.
__host__ __device__ inline float random_number(std::uint64_t place, std::uint32_t seed) {
  std::uint32_t x =
      static_cast<std::uint32_t>(place) * 0x9e3779b1U + static_cast<std::uint32_t>(place >> 32) + seed;
  x ^= x >> 16;
  x *= 0x85ebca6bU;
  x ^= x >> 13;
  x *= 0xc2b2ae35U;
  x ^= x >> 16;
  const auto sum = static_cast<float>((x & 255U) + (x >> 8 & 255U) + (x >> 16 & 255U) + (x >> 24));
  return (sum - 510.0F) * (1.0F / 147.8F);
}

template <class T>
__host__ __device__ inline T random_of(std::uint64_t place, std::uint32_t seed) {
  return T(random_number(place, seed));
}
template <>
__host__ __device__ inline std::int8_t random_of<std::int8_t>(std::uint64_t place, std::uint32_t seed) {
  return static_cast<std::int8_t>(random_number(place, seed) * 36.0F);
}

template <class T>
__global__ void fill_random(T* numbers, std::int64_t count, std::uint32_t seed) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += stride)
    numbers[i] = random_of<T>(static_cast<std::uint64_t>(i), seed);
}

template <class T>
void fill_randomly(T* numbers, std::int64_t count, std::uint32_t seed, const Stream& stream) {
  fill_random<<<2048, 256, 0, stream.get()>>>(numbers, count, seed);
  check_launch("filling a matrix");
}

}  // namespace plimsoll::cuda
