#include "cuda/matrix_kernels.cuh"

namespace plimsoll::cuda {
namespace {

constexpr int kNaiveWidth = 32, kNaiveHeight = 8;

__global__ void naive(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c,
                      int size) {
  const int column = static_cast<int>(blockIdx.x) * kNaiveWidth + static_cast<int>(threadIdx.x);
  const int row = static_cast<int>(blockIdx.y) * kNaiveHeight + static_cast<int>(threadIdx.y);
  if (row >= size || column >= size) return;
  const auto n = static_cast<std::size_t>(size);
  float sum = 0;
  for (std::size_t k = 0; k < n; ++k) sum = fmaf(a[row * n + k], b[k * n + column], sum);
  c[row * n + column] = sum;
}

constexpr int kDepth = 16;  // of the tiles that are in shared memory at a time
constexpr int kThreads = 256, kSide = 16;
constexpr int kHalf = kTile / 2;
constexpr int kOwn = 8;                              // results of a thread in each direction
constexpr int kFetched = kTile * kDepth / kThreads;  // numbers of each tile that a thread brings
constexpr int kPadding = 4;                          // so that a column's numbers lie in different banks
static_assert(kSide * kSide == kThreads && kSide * kOwn == kTile);

/// A thread's eight rows (or columns) of a tile: four of its upper half, four of its lower, so that the
/// threads of a warp read neighbouring vectors of shared memory.
__device__ int own(int lane, int i) {
  return (i < 4 ? 0 : kHalf) + lane * 4 + i % 4;
}

struct Fetched {
  float a[kFetched], b[kFetched];
};

/// Tiles of both matrices from row `depth` of the second on; zeros beyond the edges.
__device__ void fetch(Fetched& numbers, const float* __restrict__ a, const float* __restrict__ b, int size,
                      int first_row, int first_column, int depth) {
  const auto n = static_cast<std::size_t>(size);
#pragma unroll
  for (int i = 0; i < kFetched; ++i) {
    const int place = static_cast<int>(threadIdx.x) + i * kThreads;
    const int row = first_row + place / kDepth, k = depth + place % kDepth;
    numbers.a[i] = row < size && k < size ? a[row * n + k] : 0.0F;
    const int column = first_column + place % kTile, line = depth + place / kTile;
    numbers.b[i] = column < size && line < size ? b[line * n + column] : 0.0F;
  }
}

__global__ void __launch_bounds__(kThreads, 2)
    blocked(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int size) {
  __shared__ __align__(16) float tile_a[kDepth][kTile + kPadding];  // turned: a column of `a` lies in a row
  __shared__ __align__(16) float tile_b[kDepth][kTile];
  const int thread = static_cast<int>(threadIdx.x), across = thread % kSide, down = thread / kSide;
  const int first_row = static_cast<int>(blockIdx.y) * kTile,
            first_column = static_cast<int>(blockIdx.x) * kTile;
  float sums[kOwn][kOwn] = {};
  Fetched next;
  fetch(next, a, b, size, first_row, first_column, 0);
  for (int depth = 0; depth < size; depth += kDepth) {
#pragma unroll
    for (int i = 0; i < kFetched; ++i) {
      const int place = thread + i * kThreads;
      tile_a[place % kDepth][place / kDepth] = next.a[i];
      tile_b[place / kTile][place % kTile] = next.b[i];
    }
    __syncthreads();
    // The next tiles are on their way while these are worked on.
    if (depth + kDepth < size) fetch(next, a, b, size, first_row, first_column, depth + kDepth);
#pragma unroll
    for (int k = 0; k < kDepth; ++k) {
      float x[kOwn], y[kOwn];
#pragma unroll
      for (int i = 0; i < kOwn; i += 4) {
        *reinterpret_cast<float4*>(x + i) = *reinterpret_cast<const float4*>(&tile_a[k][own(down, i)]);
        *reinterpret_cast<float4*>(y + i) = *reinterpret_cast<const float4*>(&tile_b[k][own(across, i)]);
      }
#pragma unroll
      for (int i = 0; i < kOwn; ++i)
#pragma unroll
        for (int j = 0; j < kOwn; ++j) sums[i][j] = fmaf(x[i], y[j], sums[i][j]);
    }
    __syncthreads();
  }
  const auto n = static_cast<std::size_t>(size);
#pragma unroll
  for (int i = 0; i < kOwn; ++i)
#pragma unroll
    for (int j = 0; j < kOwn; ++j) {
      const int row = first_row + own(down, i), column = first_column + own(across, j);
      if (row < size && column < size) c[row * n + column] = sums[i][j];
    }
}

unsigned blocks_of(int size, int side) {
  return static_cast<unsigned>((size + side - 1) / side);
}

}  // namespace

void multiply_naively(const float* a, const float* b, float* c, int size, const Stream& stream) {
  const dim3 grid(blocks_of(size, kNaiveWidth), blocks_of(size, kNaiveHeight));
  naive<<<grid, dim3(kNaiveWidth, kNaiveHeight), 0, stream.get()>>>(a, b, c, size);
  check_launch("naive matrix product");
}

void multiply_by_blocks(const float* a, const float* b, float* c, int size, const Stream& stream) {
  const dim3 grid(blocks_of(size, kTile), blocks_of(size, kTile));
  blocked<<<grid, kThreads, 0, stream.get()>>>(a, b, c, size);
  check_launch("blocked matrix product");
}

}  // namespace plimsoll::cuda
