#pragma once
#include <cstdint>

/// The loops whose speed is memory's: those of STREAM (McCalpin, 1995), and a sum of two arrays. All are of
/// the same make, so that one can be held against the other. Arrays begin at multiples of 64 bytes.
namespace plimsoll::probe {

/// How results are stored: through the caches, which fetch every line before it is overwritten, or past them.
/// A compiler that knows the arrays to be large takes the second; which is faster depends on their size.
enum class Stores : std::uint8_t { cached, streamed };

[[nodiscard]] std::uint32_t read(const float* in,
                                 std::int64_t count);  ///< of the bits, so that they are read
void write(float* out, float value, std::int64_t count, Stores stores);
void copy(float* out, const float* in, std::int64_t count, Stores stores);
void add(float* out, const float* a, const float* b, std::int64_t count, Stores stores);
/// out = a + factor * b
void triad(float* out, const float* a, const float* b, float factor, std::int64_t count, Stores stores);

/// Two arrays whose sum is exact in every element and differs from its neighbours'; `first` is the number of
/// the first element within the whole.
void fill_addends(float* a, float* b, std::int64_t first, std::int64_t count);
/// How many elements are not the sum of what fill_addends() wrote there.
[[nodiscard]] std::int64_t wrong_sums(const float* sums, std::int64_t first, std::int64_t count);

}  // namespace plimsoll::probe
