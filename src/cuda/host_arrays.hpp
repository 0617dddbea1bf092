#pragma once
#include <cstdint>
#include <functional>

/// Long arrays on the host, filled and compared by several threads: alone, one thread would take longer than
/// what is measured.
namespace plimsoll::cuda {

/// Calls `part(begin, end)` for pieces of 0 … count, at once, one after the other where there is little to
/// do. It must not throw.
void in_parallel(std::int64_t count, const std::function<void(std::int64_t begin, std::int64_t end)>& part);

/// The two summands of element `i`: exact in a float, and different for every seed, so that no result of an
/// earlier run passes for one of this.
[[nodiscard]] inline float summand(std::int64_t i, std::uint32_t seed) {
  const std::uint32_t mixed = (static_cast<std::uint32_t>(i) + seed) * 2654435761U;
  return static_cast<float>(mixed >> 8) * 0x1p-24F;
}
inline constexpr std::uint32_t kSecond = 0x9e3779b9U;  // seed of the second summand, beside the first's

void fill_summands(float* a, float* b, std::int64_t count, std::uint32_t seed);
/// Whether every element is the sum of its summands, to the last bit.
[[nodiscard]] bool all_sums_right(const float* sums, std::int64_t count, std::uint32_t seed);
/// Reads one number of every page: where managed memory lies on the GPU, this brings it back.
[[nodiscard]] float touch_pages(const float* numbers, std::int64_t count);

}  // namespace plimsoll::cuda
