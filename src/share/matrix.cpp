#include "share/matrix.hpp"

#include <array>
#include <mutex>

#include "base/at_once.hpp"

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
  std::mutex mutex;
  std::optional<Error> failure;
  at_once(pairs.size(), [&](std::size_t at) {
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
  });
  if (failure) return std::unexpected(*failure);
  return out;
}

}  // namespace plimsoll::share
