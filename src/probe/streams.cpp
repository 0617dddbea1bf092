#include "probe/streams.hpp"

#include <bit>
#include <cstring>

#include "probe/wide.hpp"
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace plimsoll::probe {
namespace {

/// The addends' values stay below 2^16, so that their sums are exact in 24 bits.
constexpr std::uint64_t kAddendMask = 0xFFFF;
constexpr std::uint64_t kStride = 40503;  ///< odd: every value comes once in 2^16 elements

[[gnu::always_inline]] inline float first_addend(std::int64_t i) {
  return static_cast<float>(static_cast<std::uint64_t>(i) & kAddendMask);
}
[[gnu::always_inline]] inline float second_addend(std::int64_t i) {
  return static_cast<float>((static_cast<std::uint64_t>(i) * kStride + 1) & kAddendMask);
}

constexpr std::int64_t kLine = 16;  ///< floats of a cache line
/// A line's bits; the compiler takes as many vectors as the processor needs for it.
using Bits [[gnu::vector_size(64)]] = std::uint32_t;

#if defined(__SSE2__)
constexpr std::int64_t kVector = 4;

/// Whole lines past the caches, in the order in which they lie; how many elements that were.
template <class Value>
[[gnu::always_inline]] inline std::int64_t stream_lines(float* out, std::int64_t count, Value value) {
  const std::int64_t whole = count / kLine * kLine;
  for (std::int64_t i = 0; i < whole; i += kLine)
    for (std::int64_t part = 0; part < kLine; part += kVector) _mm_stream_ps(out + i + part, value(i + part));
  _mm_sfence();
  return whole;
}
#endif

}  // namespace

PLIMSOLL_WIDE std::uint32_t read(const float* in, std::int64_t count) {
  // Four sums, so that one addition does not wait for the one before it.
  constexpr std::int64_t kSums = 4, kStep = kSums * kLine;
  Bits sums[kSums] = {};
  std::int64_t i = 0;
  for (; i + kStep <= count; i += kStep)
    for (std::int64_t part = 0; part < kSums; ++part) {
      Bits bits;
      std::memcpy(&bits, in + i + part * kLine, sizeof bits);
      sums[part] += bits;
    }
  std::uint32_t sum = 0;
  for (; i < count; ++i) sum += std::bit_cast<std::uint32_t>(in[i]);
  const Bits all = sums[0] + sums[1] + sums[2] + sums[3];
  for (std::int64_t lane = 0; lane < kLine; ++lane) sum += all[lane];
  return sum;
}

PLIMSOLL_WIDE void write(float* out, float value, std::int64_t count, Stores stores) {
  std::int64_t i = 0;
#if defined(__SSE2__)
  if (stores == Stores::streamed)
    i = stream_lines(out, count, [value](std::int64_t) { return _mm_set1_ps(value); });
#endif
  for (; i < count; ++i) out[i] = value;
}

PLIMSOLL_WIDE void copy(float* __restrict out, const float* __restrict in, std::int64_t count,
                        Stores stores) {
  std::int64_t i = 0;
#if defined(__SSE2__)
  if (stores == Stores::streamed)
    i = stream_lines(out, count, [in](std::int64_t at) { return _mm_load_ps(in + at); });
#endif
  for (; i < count; ++i) out[i] = in[i];
}

PLIMSOLL_WIDE void add(float* __restrict out, const float* __restrict a, const float* __restrict b,
                       std::int64_t count, Stores stores) {
  std::int64_t i = 0;
#if defined(__SSE2__)
  if (stores == Stores::streamed)
    i = stream_lines(
        out, count, [a, b](std::int64_t at) { return _mm_add_ps(_mm_load_ps(a + at), _mm_load_ps(b + at)); });
#endif
  for (; i < count; ++i) out[i] = a[i] + b[i];
}

PLIMSOLL_WIDE void triad(float* __restrict out, const float* __restrict a, const float* __restrict b,
                         float factor, std::int64_t count, Stores stores) {
  std::int64_t i = 0;
#if defined(__SSE2__)
  if (stores == Stores::streamed)
    i = stream_lines(out, count, [a, b, factor](std::int64_t at) {
      return _mm_add_ps(_mm_load_ps(a + at), _mm_mul_ps(_mm_set1_ps(factor), _mm_load_ps(b + at)));
    });
#endif
  for (; i < count; ++i) out[i] = a[i] + factor * b[i];
}

PLIMSOLL_WIDE void fill_addends(float* __restrict a, float* __restrict b, std::int64_t first,
                                std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    a[i] = first_addend(first + i);
    b[i] = second_addend(first + i);
  }
}

PLIMSOLL_WIDE std::int64_t wrong_sums(const float* sums, std::int64_t first, std::int64_t count) {
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < count; ++i)
    wrong += sums[i] == first_addend(first + i) + second_addend(first + i) ? 0 : 1;
  return wrong;
}

}  // namespace plimsoll::probe
