#include "probe/square_products.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace plimsoll::probe {
namespace {

// A block of `a` stays in the second cache, a stripe of `b` in the third; kRows is a multiple of all tiles'.
constexpr std::int64_t kRows = 120, kDepth = 256, kColumns = 1024;
constexpr std::int64_t kPackedA = kRows * kDepth, kPackedB = kDepth * kColumns;
constexpr std::int64_t kGrain = 32;  // columns of the widest tile

/// A tile of the result: kTileRows rows of two vectors of kBytes each.
template <class NumberType, int kTileRows, int kBytes>
struct Tile {
  using Number = NumberType;
  using Vector [[gnu::vector_size(kBytes)]] = Number;
  static constexpr int kLanes = kBytes / sizeof(Number);
  static constexpr int kWidth = 2 * kLanes;
  static constexpr int kHeight = kTileRows;

  /// Adds the product of two packed stripes to the part of c that is there.
  [[gnu::always_inline]] static inline void multiply(const Number* a, const Number* b, std::int64_t depth,
                                                     Number* c, std::int64_t stride, std::int64_t rows,
                                                     std::int64_t columns) {
    Vector sums[kTileRows][2] = {};
    for (std::int64_t k = 0; k < depth; ++k, a += kTileRows, b += kWidth) {
      Vector low, high;
      std::memcpy(&low, b, sizeof low);
      std::memcpy(&high, b + kLanes, sizeof high);
#pragma GCC unroll 16
      for (int row = 0; row < kTileRows; ++row) {
        sums[row][0] += a[row] * low;
        sums[row][1] += a[row] * high;
      }
    }
    // By way of memory: vectors that are indexed by a variable would not stay in registers above.
    Number tile[kTileRows][kWidth];
#pragma GCC unroll 16
    for (int row = 0; row < kTileRows; ++row) {
      std::memcpy(tile[row], &sums[row][0], sizeof(Vector));
      std::memcpy(tile[row] + kLanes, &sums[row][1], sizeof(Vector));
    }
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t column = 0; column < columns; ++column) c[row * stride + column] += tile[row][column];
  }
};

/// Part of one of the operands, in the order in which the tiles read it; what is beyond its edge is zero.
struct Block {
  std::int64_t row, column, rows, columns;
};
template <class TileType>
[[gnu::always_inline]] inline void pack_a(const Matrices<typename TileType::Number>& m, const Block& block,
                                          typename TileType::Number* out) {
  for (std::int64_t first = 0; first < block.rows; first += TileType::kHeight)
    for (std::int64_t k = 0; k < block.columns; ++k)
      for (std::int64_t row = first; row < first + TileType::kHeight; ++row)
        *out++ = row < block.rows ? m.a[(block.row + row) * m.size + block.column + k] : 0;
}
template <class TileType>
[[gnu::always_inline]] inline void pack_b(const Matrices<typename TileType::Number>& m, const Block& block,
                                          typename TileType::Number* out) {
  using Number = typename TileType::Number;
  for (std::int64_t first = 0; first < block.columns; first += TileType::kWidth) {
    const std::int64_t there = std::min<std::int64_t>(TileType::kWidth, block.columns - first);
    for (std::int64_t k = 0; k < block.rows; ++k, out += TileType::kWidth) {
      std::memcpy(out, m.b + (block.row + k) * m.size + block.column + first,
                  static_cast<std::size_t>(there) * sizeof(Number));
      if (there < TileType::kWidth)
        std::memset(out + there, 0, static_cast<std::size_t>(TileType::kWidth - there) * sizeof(Number));
    }
  }
}

template <class TileType>
[[gnu::always_inline]] inline void multiply_block(const Matrices<typename TileType::Number>& m,
                                                  const Block& a, const Block& b,
                                                  const typename TileType::Number* packed_a,
                                                  const typename TileType::Number* packed_b) {
  for (std::int64_t column = 0; column < b.columns; column += TileType::kWidth)
    for (std::int64_t row = 0; row < a.rows; row += TileType::kHeight)
      TileType::multiply(packed_a + row * a.columns, packed_b + column * b.rows, a.columns,
                         m.c + (a.row + row) * m.size + b.column + column, m.size,
                         std::min<std::int64_t>(TileType::kHeight, a.rows - row),
                         std::min<std::int64_t>(TileType::kWidth, b.columns - column));
}

template <class TileType>
[[gnu::always_inline]] inline void multiply_columns(const Matrices<typename TileType::Number>& m,
                                                    Slice columns, typename TileType::Number* packed) {
  using Number = typename TileType::Number;
  Number* const packed_b = packed + kPackedA;
  for (std::int64_t row = 0; row < m.size; ++row)
    std::memset(m.c + row * m.size + columns.begin, 0,
                static_cast<std::size_t>(columns.size()) * sizeof(Number));
  for (std::int64_t column = columns.begin; column < columns.end; column += kColumns)
    for (std::int64_t k = 0; k < m.size; k += kDepth) {
      const std::int64_t depth = std::min(kDepth, m.size - k);
      const Block b{k, column, depth, std::min(kColumns, columns.end - column)};
      pack_b<TileType>(m, b, packed_b);
      for (std::int64_t row = 0; row < m.size; row += kRows) {
        const Block a{row, k, std::min(kRows, m.size - row), depth};
        pack_a<TileType>(m, a, packed);
        multiply_block<TileType>(m, a, b, packed, packed_b);
      }
    }
}

// As many sums as there are registers for: 24 of 32, 12 of 16, 8 of 16.
template <class Number>
using MultiplyColumns = void (*)(const Matrices<Number>&, Slice, Number*);
#if defined(__x86_64__)
template <class Number>
[[gnu::target("avx512f")]] void multiply_512(const Matrices<Number>& m, Slice columns, Number* packed) {
  multiply_columns<Tile<Number, 12, 64>>(m, columns, packed);
}
template <class Number>
[[gnu::target("avx2,fma")]] void multiply_256(const Matrices<Number>& m, Slice columns, Number* packed) {
  multiply_columns<Tile<Number, 6, 32>>(m, columns, packed);
}
#endif
template <class Number>
void multiply_128(const Matrices<Number>& m, Slice columns, Number* packed) {
  multiply_columns<Tile<Number, 4, 16>>(m, columns, packed);
}

template <class Number>
MultiplyColumns<Number> widest() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return multiply_512<Number>;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return multiply_256<Number>;
#endif
  return multiply_128<Number>;
}

/// A sequence that looks random, the same everywhere.
class Sequence {
 public:
  explicit Sequence(std::uint32_t seed) : state_(seed) {}
  /// From -8 to 8: products stay below 2^6, so that sums of up to 2^17 of them are exact in a float.
  [[nodiscard]] int next() {
    state_ = state_ * 1664525 + 1013904223;  // Numerical Recipes
    return static_cast<int>((state_ >> 16) % 17) - 8;
  }

 private:
  std::uint32_t state_;
};

template <class Number>
std::vector<double> times(const Number* matrix, const std::vector<double>& vector) {
  const std::size_t size = vector.size();
  std::vector<double> out(size);
  for (std::size_t row = 0; row < size; ++row) {
    double sum = 0;
    for (std::size_t k = 0; k < size; ++k) sum += static_cast<double>(matrix[row * size + k]) * vector[k];
    out[row] = sum;
  }
  return out;
}

}  // namespace

void multiply_naively(const Matrices<float>& m, Slice rows) {
  for (std::int64_t row = rows.begin; row < rows.end; ++row)
    for (std::int64_t column = 0; column < m.size; ++column) {
      float sum = 0;
      for (std::int64_t k = 0; k < m.size; ++k) sum += m.a[row * m.size + k] * m.b[k * m.size + column];
      m.c[row * m.size + column] = sum;
    }
}

double naive_bytes(std::int64_t size) {
  const auto n = static_cast<double>(size);
  return sizeof(float) * (2 * n * n * n + n * n);
}

template <class Number>
Result<BlockedProduct<Number>> BlockedProduct<Number>::prepare(std::int64_t size, int threads) {
  Result<MappedArray<Number>> packed = MappedArray<Number>::map(threads * (kPackedA + kPackedB));
  PLIMSOLL_TRY(packed);
  return BlockedProduct(size, threads, std::move(*packed));
}

template <class Number>
Slice BlockedProduct<Number>::columns(int thread) const {
  return slice_of(size_, thread, threads_, kGrain);
}

template <class Number>
void BlockedProduct<Number>::multiply(const Matrices<Number>& m, int thread) const {
  static const MultiplyColumns<Number> kMultiply = widest<Number>();
  kMultiply(m, columns(thread), packed_.data() + thread * (kPackedA + kPackedB));
}

template <class Number>
double BlockedProduct<Number>::bytes() const {
  // Every stripe of columns reads a whole and its part of b; c is zeroed, then read and written once for
  // every step in depth.
  std::int64_t stripes = 0;
  for (int thread = 0; thread < threads_; ++thread)
    stripes += (columns(thread).size() + kColumns - 1) / kColumns;
  const std::int64_t steps = (size_ + kDepth - 1) / kDepth;
  return sizeof(Number) * static_cast<double>(size_) * static_cast<double>(size_) *
         static_cast<double>(stripes + 1 + 1 + 2 * steps);
}

template <class Number>
void fill_whole_numbers(std::span<Number> values, std::uint32_t seed) {
  Sequence sequence(seed);
  for (Number& value : values) value = static_cast<Number>(sequence.next());
}

template <class Number>
double deviation(const Matrices<Number>& m) {
  double largest = 0, off = 0;
  for (const std::uint32_t seed : {1U, 2U}) {
    Sequence sequence(seed);
    std::vector<double> vector(static_cast<std::size_t>(m.size));
    for (double& x : vector) do
        x = sequence.next();
      while (x == 0);  // what a zero multiplies would not be looked at
    const std::vector<double> expected = times(m.a, times(m.b, vector)), got = times(m.c, vector);
    for (std::size_t row = 0; row < expected.size(); ++row) {
      if (!std::isfinite(got[row])) return INFINITY;
      largest = std::max(largest, std::abs(expected[row]));
      off = std::max(off, std::abs(got[row] - expected[row]));
    }
  }
  return largest > 0 ? off / largest : off;
}

template class BlockedProduct<float>;
template class BlockedProduct<double>;
template void fill_whole_numbers(std::span<float>, std::uint32_t);
template void fill_whole_numbers(std::span<double>, std::uint32_t);
template double deviation(const Matrices<float>&);
template double deviation(const Matrices<double>&);

}  // namespace plimsoll::probe
