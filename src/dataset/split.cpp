#include "dataset/split.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "dataset/random.hpp"

namespace plimsoll::dataset {
namespace {

// Rounds of shuffling count up from 0; these are drawn once, and by numbers that no round has.
constexpr std::uint64_t kSplitRound = std::uint64_t{1} << 62, kSubsetRound = kSplitRound + 1;

}  // namespace

std::vector<std::int64_t> shuffled(std::int64_t count, std::uint64_t seed, std::uint64_t round) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(std::max<std::int64_t>(count, 0)));
  std::iota(order.begin(), order.end(), 0);
  Random random(seed, round);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

Split split(std::int64_t count, double share, std::uint64_t seed) {
  std::vector<std::int64_t> order = shuffled(count, seed, kSplitRound);
  const auto held_out = static_cast<std::ptrdiff_t>(
      std::clamp<double>(std::round(static_cast<double>(count) * share), 0, static_cast<double>(count)));
  Split out{.training = {order.begin() + held_out, order.end()},
            .held_out = {order.begin(), order.begin() + held_out}};
  std::ranges::sort(out.training);
  std::ranges::sort(out.held_out);
  return out;
}

std::vector<std::int64_t> some_of(std::vector<std::int64_t> examples, std::int64_t most, std::uint64_t seed) {
  const auto count = static_cast<std::int64_t>(examples.size());
  if (most >= count) return examples;
  std::vector<std::int64_t> order = shuffled(count, seed, kSubsetRound);
  order.resize(static_cast<std::size_t>(std::max<std::int64_t>(most, 0)));
  for (std::int64_t& place : order) place = examples[static_cast<std::size_t>(place)];
  std::ranges::sort(order);
  return order;
}

}  // namespace plimsoll::dataset
