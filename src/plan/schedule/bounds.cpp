#include "plan/schedule/bounds.hpp"

#include <algorithm>

namespace plimsoll::plan::schedule {
namespace {

constexpr std::size_t kMostGroups = 20'000;

}  // namespace

std::vector<double> earliest_ends(std::span<const Job> jobs) {
  std::vector<double> out(jobs.size(), std::numeric_limits<double>::infinity()), start(jobs.size());
  std::vector<std::size_t> waits(jobs.size()), ready;
  std::vector<std::vector<std::size_t>> followers(jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    start[i] = jobs[i].arrival;
    waits[i] = jobs[i].after.size();
    for (const std::size_t before : jobs[i].after) followers[before].push_back(i);
    if (waits[i] == 0) ready.push_back(i);
  }
  for (std::size_t at = 0; at < ready.size(); ++at) {
    const std::size_t job = ready[at];
    out[job] = start[job] + jobs[job].startup + jobs[job].seconds;
    for (const std::size_t follower : followers[job]) {
      start[follower] = std::max(start[follower], out[job]);
      if (--waits[follower] == 0) ready.push_back(follower);
    }
  }
  return out;
}

double LowerBound::seconds() const {
  return std::max({work, longest, share, memory});
}

LowerBound lower_bound(const Instance& instance, std::span<const double> most_combined) {
  LowerBound out;
  double work = 0, share = 0, bytes = 0, first = std::numeric_limits<double>::infinity();
  double first_bytes = first;
  const std::vector<double> ends = earliest_ends(instance.jobs);
  for (std::size_t i = 0; i < instance.jobs.size(); ++i) {
    const Job& job = instance.jobs[i];
    const Kind& kind = instance.kinds[job.kind];
    if (kind.serves) continue;
    work += job.seconds * job.gpus;
    share += job.seconds * job.gpus * (job.gpus > 1 ? 1 : kind.share);  // several are not shared
    bytes +=
        (job.startup + job.seconds) * job.gpus * static_cast<double>(kind.memory.value_or(Bytes()).count());
    first = std::min(first, job.arrival + job.startup);
    first_bytes = std::min(first_bytes, job.arrival);
    out.longest = std::max(out.longest, ends[i]);
  }
  double memory = 0;
  for (const Place& place : instance.places) memory += static_cast<double>(place.memory.count());
  if (work <= 0) return out;
  double speed = 0;
  for (const Place& place : instance.places) speed += most_combined[place.setup];
  out.work = first + work / std::max(speed, 1e-9);
  if (instance.shares_bind) out.share = first + share / static_cast<double>(instance.places.size());
  if (memory > 0) out.memory = first_bytes + bytes / memory;
  return out;
}

std::vector<double> most_combined(const Instance& instance, Rates& rates, std::size_t most) {
  std::vector<double> best(instance.setups.size(), 1);
  std::vector<bool> is_used(instance.setups.size(),
                            false);  // what no place is set up as takes time for nothing
  for (const Place& place : instance.places) is_used[place.setup] = true;
  std::vector<std::vector<std::uint32_t>> groups(1);
  std::size_t asked = 0;
  const auto memory_of = [&](const std::vector<std::uint32_t>& kinds) {
    Bytes out;
    for (const std::uint32_t kind : kinds) out += instance.kinds[kind].memory.value_or(Bytes());
    return out;
  };
  Bytes largest;
  for (const Place& place : instance.places) largest = std::max(largest, place.memory);
  for (std::size_t size = 1; size <= most && !groups.empty(); ++size) {
    std::vector<std::vector<std::uint32_t>> larger;
    for (const auto& group : groups)
      for (std::uint32_t kind = group.empty() ? 0 : group.back(); kind < instance.kinds.size(); ++kind) {
        if (instance.kinds[kind].serves || (size > 1 && !instance.kinds[kind].memory)) continue;
        std::vector<std::uint32_t> with = group;
        with.push_back(kind);
        if (memory_of(with) > largest || ++asked > kMostGroups) continue;
        for (std::size_t setup = 0; setup < instance.setups.size(); ++setup) {
          if (!is_used[setup] || (size > 1 && !is_shared(instance.setups[setup]))) continue;
          const GroupRates& found = rates.of(with, setup);
          if (found.allowed) best[setup] = std::max(best[setup], found.combined());
        }
        larger.push_back(std::move(with));
      }
    groups = std::move(larger);
  }
  // And of all that were looked at before: those of a plan may be larger.
  rates.each([&](std::span<const std::uint32_t> kinds, std::size_t setup, const GroupRates& known) {
    if (!known.allowed || setup >= best.size()) return;
    double combined = known.combined();
    for (std::size_t i = 0; i < kinds.size(); ++i)
      if (instance.kinds[kinds[i]].serves) combined -= known.speeds[i];
    best[setup] = std::max(best[setup], combined);
  });
  return best;
}

}  // namespace plimsoll::plan::schedule
