#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cuda/answer.hpp"

/// What is measured at which sizes, and how it is said: all that needs no GPU to be right.
namespace plimsoll::cuda {

/// Powers of `factor` times `first`, up to `last` and to `most`; none where already the first is more.
[[nodiscard]] std::vector<std::int64_t> sizes_between(std::int64_t first, std::int64_t last, int factor,
                                                      std::int64_t most);

/// How the threads of a grid go over an array, one step after the other and round again at its end, so that
/// all of them are busy however small it is: thread t begins at t % items and goes on by `step`.
struct Sweep {
  std::uint32_t items = 0;  ///< of 16 bytes, in each array
  std::uint32_t step = 0;   ///< the number of threads, modulo items
  std::uint32_t steps = 0;  ///< of each thread; a multiple of kSweepUnroll
  double passes = 0;        ///< over the array, of all threads together
  friend bool operator==(const Sweep&, const Sweep&) = default;
};
inline constexpr std::uint32_t kSweepUnroll = 4;
inline constexpr std::int64_t kSweepItem = 16;  // B
/// Over `bytes` of each of `arrays`, as often as makes at least `least_bytes` of all together.
[[nodiscard]] Sweep sweep_over(std::int64_t bytes, int arrays, std::int64_t threads,
                               std::int64_t least_bytes);

/// FLOPs of a product of two square matrices: a multiplication and an addition per row, column and depth.
[[nodiscard]] double square_product_flops(std::int64_t size);
/// Bytes that a product of two matrices of floats asks of main memory where nothing is cached: two numbers
/// per multiply-add by a thread per element, a tile's side fewer by blocks, and each matrix once at best.
[[nodiscard]] double naive_bytes(std::int64_t size);
[[nodiscard]] double blocked_bytes(std::int64_t size, int tile);
[[nodiscard]] double library_bytes(std::int64_t size);

/// Whether a study that is slow by nature is worth its time, told from the seconds per element before.
inline constexpr double kLongestStep = 60;              // s
inline constexpr double kSlowestSecondsPerItem = 1e-7;  // of one thread of a GPU: a main memory's latency
[[nodiscard]] bool takes_too_long(std::int64_t elements, double seconds_per_element);

/// Bytes of the host's memory that a program may still have; 0 where the kernel does not tell.
[[nodiscard]] std::int64_t host_memory_available();
/// Out of the text of /proc/meminfo.
[[nodiscard]] std::int64_t memory_available_in(std::string_view meminfo);

// Words.
[[nodiscard]] std::string phase_of(std::int64_t elements);
[[nodiscard]] std::string phase_of(Place place, Workers workers, std::int64_t elements);
[[nodiscard]] std::string phase_of(Method method, std::int64_t size);
[[nodiscard]] std::string phase_of(std::string_view rate, double bytes);
[[nodiscard]] std::string left_out(std::string_view what, std::int64_t needs, std::int64_t has,
                                   std::string_view where);
[[nodiscard]] std::string left_out_as_slow(std::string_view what);
[[nodiscard]] std::string version_text(std::int64_t number, std::int64_t major_unit, std::int64_t minor_unit);
[[nodiscard]] std::string uuid_text(const unsigned char (&bytes)[16]);

}  // namespace plimsoll::cuda
