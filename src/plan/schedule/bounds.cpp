#include "plan/schedule/bounds.hpp"

#include <algorithm>

namespace plimsoll::plan::schedule {
namespace {

constexpr std::size_t kMostGroups = 20'000;

/// When a job can end at the earliest, by those that it waits for.
double earliest_end(const Instance& instance, std::size_t job, std::vector<double>& known) {
  if (known[job] >= 0) return known[job];
  double start = instance.jobs[job].arrival;
  for (const std::size_t before : instance.jobs[job].after)
    start = std::max(start, earliest_end(instance, before, known));
  return known[job] = start + instance.jobs[job].seconds;
}

}  // namespace

double LowerBound::seconds() const {
  return std::max({work, longest, share, memory});
}

LowerBound lower_bound(const Instance& instance, std::span<const double> most_combined) {
  LowerBound out;
  double work = 0, share = 0, bytes = 0, first = std::numeric_limits<double>::infinity();
  std::vector<double> known(instance.jobs.size(), -1);
  for (std::size_t i = 0; i < instance.jobs.size(); ++i) {
    const Job& job = instance.jobs[i];
    const Kind& kind = instance.kinds[job.kind];
    if (kind.serves) continue;
    work += job.seconds * job.gpus;
    share += job.seconds * job.gpus * (job.gpus > 1 ? 1 : kind.share);  // several are not shared
    bytes += job.seconds * job.gpus * static_cast<double>(kind.memory.value_or(Bytes()).count());
    first = std::min(first, job.arrival);
    out.longest = std::max(out.longest, earliest_end(instance, i, known));
  }
  double memory = 0;
  for (const Place& place : instance.places) memory += static_cast<double>(place.memory.count());
  if (work <= 0) return out;
  double speed = 0;
  for (const Place& place : instance.places) speed += most_combined[place.setup];
  out.work = first + work / std::max(speed, 1e-9);
  if (instance.shares_bind) out.share = first + share / static_cast<double>(instance.places.size());
  if (memory > 0) out.memory = first + bytes / memory;
  return out;
}

std::vector<double> most_combined(const Instance& instance, Rates& rates, std::size_t most) {
  std::vector<double> best(instance.setups.size(), 1);
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
          const share::Way way = instance.setups[setup].way;
          if (size > 1 && (way == share::Way::exclusive || way == share::Way::mig)) continue;
          const GroupRates& found = rates.of(with, setup);
          if (found.allowed) best[setup] = std::max(best[setup], found.combined());
        }
        larger.push_back(std::move(with));
      }
    groups = std::move(larger);
  }
  return best;
}

}  // namespace plimsoll::plan::schedule
