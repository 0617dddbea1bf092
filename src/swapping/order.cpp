#include "swapping/order.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace plimsoll::swapping {
namespace {

using Costs = std::vector<std::vector<std::int64_t>>;
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max() / 4;

Costs costs_of(const Packed& packed) {
  const std::size_t count = packed.models.size();
  Costs out(count, std::vector<std::int64_t>(count));
  for (std::size_t from = 0; from < count; ++from)
    for (std::size_t to = 0; to < count; ++to)
      if (from != to) out[from][to] = blocks_added(packed, from, to);
  return out;
}

std::int64_t blocks_of(const Costs& costs, const std::vector<std::size_t>& order) {
  std::int64_t out = 0;
  for (std::size_t i = 0; order.size() > 1 && i < order.size(); ++i)
    out += costs[order[i]][order[(i + 1) % order.size()]];
  return out;
}

/// least[set][at]: of all ways from `at` through the models that are not in `set`, back to the first.
std::vector<std::size_t> by_held_karp(const Costs& costs) {
  const std::size_t count = costs.size(), sets = std::size_t{1} << count;
  std::vector<std::vector<std::int64_t>> least(sets, std::vector<std::int64_t>(count, kNever));
  for (std::size_t at = 0; at < count; ++at) least[sets - 1][at] = costs[at][0];
  for (std::size_t set = sets - 1; set-- > 0;)
    for (std::size_t at = 0; at < count; ++at)
      for (std::size_t to = 0; to < count; ++to)
        if ((set >> to & 1U) == 0)
          least[set][at] = std::min(least[set][at], costs[at][to] + least[set | std::size_t{1} << to][to]);
  std::vector<std::size_t> out{0};
  for (std::size_t set = 1; out.size() < count;) {
    const std::size_t at = out.back();
    for (std::size_t to = 0; to < count; ++to) {
      const std::size_t more = set | std::size_t{1} << to;
      if (more == set || costs[at][to] + least[more][to] != least[set][at]) continue;
      out.push_back(to);
      set = more;
      break;
    }
  }
  return out;
}

std::vector<std::size_t> by_nearest(const Costs& costs) {
  std::vector<std::size_t> out{0};
  std::vector<bool> placed(costs.size());
  placed[0] = true;
  while (out.size() < costs.size()) {
    std::size_t next = costs.size();
    for (std::size_t to = 0; to < costs.size(); ++to)
      if (!placed[to] && (next == costs.size() || costs[out.back()][to] < costs[out.back()][next])) next = to;
    placed[next] = true;
    out.push_back(next);
  }
  return out;
}

}  // namespace

std::int64_t blocks_added(const Packed& packed, std::size_t from, std::size_t to) {
  std::int64_t out = 0;
  for (const std::size_t chunk : packed.models[to].chunks)
    if (!std::ranges::binary_search(packed.models[from].chunks, chunk)) out += packed.chunks[chunk].blocks;
  return out;
}

Round best_round(const Packed& packed) {
  if (packed.models.size() < 2) return given_round(packed);
  const Costs costs = costs_of(packed);
  const bool exact = costs.size() <= kMostOrderedExactly;
  Round out{exact ? by_held_karp(costs) : by_nearest(costs), 0, exact};
  out.blocks = blocks_of(costs, out.order);
  Round given = given_round(packed);
  given.exact = exact;
  return given.blocks <= out.blocks ? given : out;
}

Round given_round(const Packed& packed) {
  Round out{std::vector<std::size_t>(packed.models.size()), 0, false};
  std::iota(out.order.begin(), out.order.end(), std::size_t{0});
  out.blocks = blocks_of(costs_of(packed), out.order);
  return out;
}

}  // namespace plimsoll::swapping
