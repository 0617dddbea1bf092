#include "share/matrix.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <thread>

namespace plimsoll::share {
namespace {

constexpr double kEnoughOfPairs = 0.02;

struct Pair {
  std::size_t a, b;
};

}  // namespace

std::optional<std::size_t> Matrix::best_partner(std::size_t row) const {
  std::optional<std::size_t> best;
  for (std::size_t other = 0; other < size; ++other)
    if (other != row && (!best || combined(row, other) > combined(row, *best))) best = other;
  return best;
}

Result<Matrix> matrix(std::span<const Workload* const> workloads, const hardware::Device& device,
                      const Sharing& sharing, const SharingFigures& figures) {
  const std::size_t size = workloads.size();
  Matrix out{.sharing = sharing, .size = size, .speeds = std::vector<double>(size * size)};
  std::vector<Pair> pairs;
  for (std::size_t a = 0; a < size; ++a)
    for (std::size_t b = a; b < size; ++b) pairs.push_back({a, b});
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::optional<Error> failure;
  const auto work = [&] {
    for (std::size_t at = next++; at < pairs.size(); at = next++) {
      const auto [a, b] = pairs[at];
      const std::array both = {workloads[a], workloads[b]};
      const auto way = beside(both, device, sharing, figures, {.enough = kEnoughOfPairs});
      if (!way) {
        const std::scoped_lock lock(mutex);
        failure = way.error();
        return;
      }
      out.speeds[a * size + b] = way->members[0].speed;
      out.speeds[b * size + a] = way->members[1].speed;
    }
  };
  {
    std::vector<std::jthread> threads;
    const std::size_t most = std::min<std::size_t>(std::thread::hardware_concurrency(), pairs.size());
    for (std::size_t i = 1; i < most; ++i) threads.emplace_back(work);
    work();
  }
  if (failure) return std::unexpected(*failure);
  return out;
}

}  // namespace plimsoll::share
