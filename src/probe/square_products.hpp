#pragma once
#include <cstdint>
#include <vector>

#include "probe/crew.hpp"
#include "probe/mapped_array.hpp"

/// c = a * b for square matrices of float or double by rows, written out in two ways.
namespace plimsoll::probe {

template <class Number>
struct Matrices {
  const Number* a;
  const Number* b;
  Number* c;
  std::int64_t size;
};

/// Three loops, as the formula stands: a row of `a` and a column of `b` are read anew for every element.
/// Computes the rows of the slice.
void multiply_naively(const Matrices<float>& m, Slice rows);
/// Bytes that it asks of memory.
[[nodiscard]] double naive_bytes(std::int64_t size);

/// In blocks that stay in the caches, packed so that they are read in order, with tiles of the result that
/// stay in registers (Goto and van de Geijn, Anatomy of High-Performance Matrix Multiplication, 2008). Each
/// thread computes columns of its own.
template <class Number>
class BlockedProduct {
 public:
  [[nodiscard]] static Result<BlockedProduct> prepare(std::int64_t size, int threads);
  void multiply(const Matrices<Number>& m, int thread) const;
  [[nodiscard]] double bytes() const;  ///< that it asks of memory, caches holding the blocks

 private:
  BlockedProduct(std::int64_t size, int threads, MappedArray<Number> packed)
      : size_(size), threads_(threads), packed_(std::move(packed)) {}
  [[nodiscard]] Slice columns(int thread) const;

  std::int64_t size_;
  int threads_;
  MappedArray<Number> packed_;  // of all threads, one after the other
};

/// Whole numbers small enough that sums of their products are exact in whatever order they are added.
template <class Number>
void fill_whole_numbers(std::span<Number> values, std::uint32_t seed);

/// Whether c is a * b, exactly: both are multiplied by the same two vectors without zeros (Freivalds, 1977).
/// One wrong element of a row always shows; several must cancel under both to stay unseen. The largest
/// deviation found, as a share of the largest value; 0 where it is right.
template <class Number>
[[nodiscard]] double deviation(const Matrices<Number>& m);

}  // namespace plimsoll::probe
