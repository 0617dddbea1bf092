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

constexpr int kDepth = 8;  // of the tiles that are in shared memory at a time
constexpr int kThreads = 256, kSide = 16;
constexpr int kHalf = kTile / 2;
constexpr int kOwn = 8;      // results of a thread in each direction
constexpr int kWidth = 4;    // numbers that one instruction loads
constexpr int kPadding = 4;  // so that the numbers of a column lie in different banks
static_assert(kSide * kSide == kThreads && kSide * kOwn == kTile && kTile * kDepth == kThreads * kWidth);

/// The first of four neighbours among a thread's eight rows (or columns) of a tile: four are of its first
/// half, four of its second, so that the threads of a warp read neighbouring vectors of shared memory.
__device__ int own(int lane, int i) {
  return (i < kWidth ? 0 : kHalf) + lane * kWidth + i % kWidth;
}

/// Four neighbours of a row; zeros beyond the edges, where there are any.
template <bool edges>
__device__ float4 fetch(const float* __restrict__ matrix, int row, int column, int size) {
  const float* from = matrix + static_cast<std::size_t>(row) * static_cast<std::size_t>(size) + column;
  if constexpr (!edges) return *reinterpret_cast<const float4*>(from);
  const auto at = [&](int i) { return row < size && column + i < size ? from[i] : 0.0F; };
  return make_float4(at(0), at(1), at(2), at(3));
}

/// `edges`: the size is no multiple of the tile's.
template <bool edges>
__global__ void __launch_bounds__(kThreads, 2)
    blocked(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int size) {
  __shared__ __align__(16) float tile_a[kDepth][kTile + kPadding];  // turned: a column of `a` lies in a row
  __shared__ __align__(16) float tile_b[kDepth][kTile];
  const int thread = static_cast<int>(threadIdx.x), across = thread % kSide, down = thread / kSide;
  const int first_row = static_cast<int>(blockIdx.y) * kTile,
            first_column = static_cast<int>(blockIdx.x) * kTile;
  // What this thread brings: of the tile of `a` half a row, of that of `b` four neighbours.
  const int row_a = thread / 2, column_a = thread % 2 * kWidth;
  const int row_b = thread / (kTile / kWidth), column_b = thread % (kTile / kWidth) * kWidth;
  float sums[kOwn][kOwn] = {};
  float4 next_a = fetch<edges>(a, first_row + row_a, column_a, size);
  float4 next_b = fetch<edges>(b, row_b, first_column + column_b, size);
  for (int depth = 0; depth < size; depth += kDepth) {
    tile_a[column_a][row_a] = next_a.x;
    tile_a[column_a + 1][row_a] = next_a.y;
    tile_a[column_a + 2][row_a] = next_a.z;
    tile_a[column_a + 3][row_a] = next_a.w;
    *reinterpret_cast<float4*>(&tile_b[row_b][column_b]) = next_b;
    __syncthreads();
    // The next tiles are on their way while these are worked on.
    if (const int next = depth + kDepth; next < size) {
      next_a = fetch<edges>(a, first_row + row_a, next + column_a, size);
      next_b = fetch<edges>(b, next + row_b, first_column + column_b, size);
    }
#pragma unroll
    for (int k = 0; k < kDepth; ++k) {
      alignas(16) float x[kOwn], y[kOwn];
#pragma unroll
      for (int i = 0; i < kOwn; i += kWidth) {
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
      if (!edges || (row < size && column < size)) c[row * n + column] = sums[i][j];
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
  const auto kernel = size % kTile == 0 ? blocked<false> : blocked<true>;
  kernel<<<grid, kThreads, 0, stream.get()>>>(a, b, c, size);
  check_launch("blocked matrix product");
}

}  // namespace plimsoll::cuda
