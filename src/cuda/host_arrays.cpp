#include "cuda/host_arrays.hpp"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include <sched.h>

namespace plimsoll::cuda {
namespace {

constexpr std::int64_t kLeastPerThread = 1 << 18;
constexpr std::int64_t kMostThreads = 16;  // as many as main memory keeps busy
constexpr std::int64_t kPage = 4096 / sizeof(float);

std::int64_t processors() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
  return std::clamp<std::int64_t>(CPU_COUNT(&allowed), 1, kMostThreads);
}

}  // namespace

void in_parallel(std::int64_t count, const std::function<void(std::int64_t, std::int64_t)>& part) {
  const std::int64_t threads = std::clamp<std::int64_t>(count / kLeastPerThread, 1, processors());
  const std::int64_t each = (count + threads - 1) / threads;
  std::vector<std::jthread> others;
  for (std::int64_t i = 1; i < threads; ++i)
    others.emplace_back([&part, begin = std::min(i * each, count), end = std::min((i + 1) * each, count)] {
      part(begin, end);
    });
  part(0, std::min(each, count));
}

void fill_summands(float* a, float* b, std::int64_t count, std::uint32_t seed) {
  in_parallel(count, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      a[i] = summand(i, seed);
      b[i] = summand(i, seed ^ kSecond);
    }
  });
}

bool all_sums_right(const float* sums, std::int64_t count, std::uint32_t seed) {
  std::atomic<bool> right = true;
  in_parallel(count, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t wrong = 0;  // counted rather than left at the first, so that the loop is vectorised
    for (std::int64_t i = begin; i < end; ++i)
      wrong += sums[i] == summand(i, seed) + summand(i, seed ^ kSecond) ? 0 : 1;
    if (wrong != 0) right = false;
  });
  return right;
}

float touch_pages(const float* numbers, std::int64_t count) {
  float sum = 0;
  for (std::int64_t i = 0; i < count; i += kPage) sum += numbers[i];
  return sum;
}

}  // namespace plimsoll::cuda
