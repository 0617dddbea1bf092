#include "plan/schedule/instance.hpp"

#include <algorithm>

namespace plimsoll::plan::schedule {
namespace {

constexpr std::size_t kMostClients = 48;  // of one MPS daemon

}  // namespace

bool may_join(const Instance& instance, const Place& place, const PlaceState& state, std::size_t job) {
  const Job& joins = instance.jobs[job];
  const Kind& kind = instance.kinds[joins.kind];
  const Setup& setup = instance.setups[place.setup];
  if (state.closed) return false;
  if (kind.memory && *kind.memory > place.memory) return false;
  if (setup.way == share::Way::mig && joins.gpus > 1) return false;  // slices of GPUs cannot reach each other
  if (state.running.empty()) return true;
  if (!kind.memory || state.memory + *kind.memory > place.memory) return false;
  if (!is_shared(setup) || joins.gpus > 1) return false;
  if (under_mps(setup) && state.running.size() >= kMostClients) return false;
  return std::ranges::none_of(state.running, [&](const Running& other) {
    const Job& beside = instance.jobs[other.job];
    if (beside.gpus > 1) return true;
    if (under_mps(setup) && beside.user != joins.user) return true;
    return std::ranges::find(joins.apart, other.job) != joins.apart.end() ||
           std::ranges::find(beside.apart, job) != beside.apart.end();
  });
}

std::vector<std::uint32_t> computing_kinds(const PlaceState& state) {
  std::vector<std::uint32_t> out;
  out.reserve(state.running.size());
  for (const Running& running : state.running)
    if (running.starting <= 0) out.push_back(running.kind);
  return out;
}

double rank_of(const Instance& instance, std::size_t job) {
  constexpr double kBeforeAll = 1e9;
  return instance.kinds[instance.jobs[job].kind].serves ? kBeforeAll : instance.jobs[job].priority;
}

std::vector<std::size_t> of_one_host(const Instance& instance, std::vector<std::size_t> idle,
                                     std::size_t wanted) {
  if (instance.hosts > 1 && wanted > 1) {
    std::vector<std::size_t> all(instance.hosts), free(instance.hosts);
    for (const Place& place : instance.places) ++all[place.host];
    for (const std::size_t place : idle) ++free[instance.places[place].host];
    std::optional<std::size_t> best;  // whose idle ones are the fewest that do
    for (std::size_t host = 0; host < instance.hosts; ++host)
      if (free[host] >= wanted && (!best || free[host] < free[*best])) best = host;
    if (best)
      std::erase_if(idle, [&](std::size_t place) { return instance.places[place].host != *best; });
    else if (std::ranges::max(all) >= wanted)
      idle.clear();
  }
  idle.resize(std::min(idle.size(), wanted));
  return idle;
}

std::vector<std::uint32_t> with_kind(std::span<const std::uint32_t> kinds, std::uint32_t more) {
  std::vector<std::uint32_t> out;
  out.reserve(kinds.size() + 1);
  const auto at = std::ranges::upper_bound(kinds, more);
  out.insert(out.end(), kinds.begin(), at);
  out.push_back(more);
  out.insert(out.end(), at, kinds.end());
  return out;
}

std::optional<double> gain_of(std::span<const std::uint32_t> kinds, const Place& place, std::uint32_t kind,
                              Rates& rates) {
  const GroupRates& with = rates.of(with_kind(kinds, kind), place.setup);
  if (!with.allowed) return std::nullopt;
  return with.combined() - (kinds.empty() ? 0 : rates.of(kinds, place.setup).combined());
}

}  // namespace plimsoll::plan::schedule
