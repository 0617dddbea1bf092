#include "swapping/requests.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include "base/random.hpp"

namespace plimsoll::swapping {
namespace {

constexpr std::uint64_t kLargestBurst = 7;
constexpr double kFasterInBursts = 4;

std::vector<std::size_t> ranks_of(std::span<const std::size_t> order) {
  std::vector<std::size_t> out(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) out[order[i]] = i;
  return out;
}

/// The first `frames` of streams that each tell when their next one arrives.
template <class Next>
std::vector<Request> first_of(std::span<const Stream> streams, std::span<const std::size_t> order,
                              std::size_t frames, std::vector<double> first, Next next) {
  using Arrival = std::tuple<double, std::size_t, std::size_t>;  // time, rank, model
  std::set<Arrival> coming;
  const std::vector<std::size_t> ranks = ranks_of(order);
  for (std::size_t i = 0; i < streams.size(); ++i) coming.emplace(first[i], ranks[i], i);
  std::vector<Request> out;
  while (out.size() < frames && !coming.empty()) {
    const auto [time, rank, model] = *coming.begin();
    coming.erase(coming.begin());
    out.push_back({model, Seconds(time), Seconds(time) + streams[model].limit});
    coming.emplace(next(model, time), rank, model);
  }
  return out;
}

}  // namespace

std::vector<Request> steady_requests(std::span<const Stream> streams, std::span<const std::size_t> order,
                                     std::size_t frames) {
  std::vector<double> counts(streams.size());  // not sums of steps, whose errors would tear frames apart
  return first_of(streams, order, frames, std::vector<double>(streams.size()),
                  [&](std::size_t model, double) { return ++counts[model] / streams[model].rate; });
}

std::vector<Request> bursty_requests(std::span<const Stream> streams, std::span<const std::size_t> order,
                                     std::size_t frames, std::uint64_t seed) {
  Random random(seed);
  constexpr std::uint64_t kSteps = std::uint64_t{1} << 32U;
  const auto uniform = [&] {
    return static_cast<double>(random.below(kSteps)) / static_cast<double>(kSteps);
  };
  struct Burst {
    std::uint64_t left = 0;
    double next_begin = 0;
  };
  std::vector<Burst> bursts(streams.size());
  const auto begin = [&](std::size_t model, double at) {
    const std::uint64_t size = 1 + random.below(kLargestBurst);
    bursts[model] = {size - 1, at + static_cast<double>(size) / streams[model].rate * (0.5 + uniform())};
    return at;
  };
  std::vector<double> first;
  for (std::size_t i = 0; i < streams.size(); ++i) first.push_back(begin(i, uniform() / streams[i].rate));
  return first_of(streams, order, frames, std::move(first), [&](std::size_t model, double time) {
    if (bursts[model].left == 0) return begin(model, bursts[model].next_begin);
    --bursts[model].left;
    return time + 1 / (kFasterInBursts * streams[model].rate);
  });
}

void sort_requests(std::vector<Request>& requests, std::span<const std::size_t> order) {
  const std::vector<std::size_t> ranks = ranks_of(order);
  std::ranges::stable_sort(
      requests, {}, [&](const Request& request) { return std::pair(request.arrival, ranks[request.model]); });
}

}  // namespace plimsoll::swapping
