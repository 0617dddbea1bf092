#include "report/schedule_groups.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace plimsoll::report {
namespace {

using plan::schedule::Plan;
using plan::schedule::Ran;

constexpr double kSameMoment = 1e-6;  // s

/// Sets that are joined, each known by its first.
class JoinedGpus {
 public:
  explicit JoinedGpus(std::size_t count) : parents_(count) { std::iota(parents_.begin(), parents_.end(), 0); }
  std::size_t first(std::size_t gpu) {
    while (parents_[gpu] != gpu) gpu = parents_[gpu] = parents_[parents_[gpu]];
    return gpu;
  }
  void join(std::size_t a, std::size_t b) {
    const std::size_t one = first(a), other = first(b);
    parents_[std::max(one, other)] = std::min(one, other);
  }

 private:
  std::vector<std::size_t> parents_;
};

bool share_a_place(const Ran& a, const Ran& b) {
  return std::ranges::find_first_of(a.places, b.places) != a.places.end();
}

}  // namespace

std::vector<GpuGroup> gpu_groups(const Plan& plan) {
  std::size_t gpus = 0;
  for (const plan::schedule::Place& place : plan.instance.places) gpus = std::max(gpus, place.device + 1);
  JoinedGpus joined(gpus);
  const auto gpu_of = [&](std::size_t place) { return plan.instance.places[place].device; };
  for (std::size_t job = 0; job < plan.outcome.jobs.size(); ++job) {
    const Ran& ran = plan.outcome.jobs[job];
    if (ran.places.empty()) continue;
    for (const std::size_t place : ran.places) joined.join(gpu_of(place), gpu_of(ran.places.front()));
    for (const std::size_t before : plan.instance.jobs[job].after)
      for (const std::size_t place : plan.outcome.jobs[before].places)
        joined.join(gpu_of(place), gpu_of(ran.places.front()));
  }
  std::vector<GpuGroup> all(gpus);
  for (std::size_t gpu = 0; gpu < gpus; ++gpu) all[joined.first(gpu)].gpus.push_back(gpu);
  for (std::size_t job = 0; job < plan.outcome.jobs.size(); ++job)
    if (const Ran& ran = plan.outcome.jobs[job]; !ran.places.empty())
      all[joined.first(gpu_of(ran.places.front()))].jobs.push_back(job);
  std::erase_if(all, [](const GpuGroup& group) { return group.jobs.empty(); });
  for (GpuGroup& group : all)
    std::ranges::stable_sort(group.jobs, {}, [&](std::size_t job) { return plan.outcome.jobs[job].start; });
  return all;
}

std::vector<std::vector<std::size_t>> started_by(const Plan& plan, const GpuGroup& group) {
  std::vector<std::vector<std::size_t>> out(plan.outcome.jobs.size());
  std::vector<std::size_t> by_end = group.jobs;
  std::ranges::stable_sort(by_end, {}, [&](std::size_t job) { return plan.outcome.jobs[job].end; });
  for (const std::size_t job : group.jobs) {
    const Ran& ran = plan.outcome.jobs[job];
    std::vector<std::size_t> here, elsewhere;
    auto other = std::ranges::lower_bound(by_end, ran.start - kSameMoment, {},
                                          [&](std::size_t j) { return plan.outcome.jobs[j].end; });
    for (; other != by_end.end() && plan.outcome.jobs[*other].end <= ran.start + kSameMoment; ++other) {
      const Ran& before = plan.outcome.jobs[*other];
      // One that takes no time starts nobody: two such would wait for each other.
      if (before.start >= ran.start || plan.instance.kinds[plan.instance.jobs[*other].kind].serves) continue;
      (share_a_place(before, ran) ? here : elsewhere).push_back(*other);
    }
    out[job] = ran.start > 0 ? (here.empty() ? elsewhere : here) : std::vector<std::size_t>();
    for (const std::size_t before : plan.instance.jobs[job].after)
      if (!plan.outcome.jobs[before].places.empty()) out[job].push_back(before);
    std::ranges::sort(out[job]);
    out[job].erase(std::ranges::unique(out[job]).begin(), out[job].end());
  }
  return out;
}

double starts_at(const Plan& plan, std::size_t job, bool started_by_others) {
  return std::max(0.0, started_by_others ? plan.instance.jobs[job].arrival : plan.outcome.jobs[job].start);
}

PartOfGpu part_of_gpu(const Plan& plan, std::size_t place) {
  PartOfGpu out{.part = 0, .parts = 0};
  for (std::size_t other = 0; other < plan.instance.places.size(); ++other) {
    if (plan.instance.places[other].device != plan.instance.places[place].device) continue;
    ++out.parts;
    if (other < place) ++out.part;
  }
  return out;
}

std::string group_name(const GpuGroup& group) {
  return fmt::format("GPU{} {}", group.gpus.size() > 1 ? "s" : "", fmt::join(group.gpus, ", "));
}

}  // namespace plimsoll::report
