#include "plan/mig/services.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "plan/mig/demands.hpp"
#include "plan/mig/packing.hpp"
#include "plan/mig/segments.hpp"

namespace plimsoll::plan {
namespace {

using hardware::MigTable;

constexpr std::size_t kMostTries = 8;        // numbers of GPUs
constexpr std::size_t kPackSteps = 300'000;  // per number of GPUs
constexpr std::size_t kBeamWork = 20'000'000;
constexpr std::int64_t kFirstSlack = 2;  // parts beyond the fewest, which mostly suffice

/// What the services before have come to.
struct Sum {
  SizeCounts counts = {};
  std::int64_t compute = 0, memory = 0;
  std::size_t before = 0, way = 0;  ///< from which of the sums before it, and by which way
};

/// Ways of all services whose instances may fit: sums over the services, one after the other, alike sums
/// once.
struct Sums {
  std::vector<ServiceOptions> options = {};
  std::vector<std::vector<Sum>> after = {};  ///< after each service; the last are of all
  bool complete = true;
};

std::int64_t burden(const GpuPatterns& patterns, const Sum& sum) {
  return sum.compute * patterns.memory_parts + sum.memory * patterns.compute_parts;
}

std::vector<Sum> sums_with(const std::vector<Sum>& before, const ServiceOptions& options,
                           std::int64_t most_compute, std::int64_t most_memory) {
  std::vector<Sum> out;
  std::map<SizeCounts, std::size_t> seen;
  for (std::size_t i = 0; i < before.size(); ++i)
    for (std::size_t way = 0; way < options.ways.size(); ++way) {
      const ServiceOption& option = options.ways[way];
      Sum sum{before[i].counts, before[i].compute + option.compute, before[i].memory + option.memory, i, way};
      if (sum.compute > most_compute) break;  // the ways after it have no less
      if (sum.memory > most_memory) continue;
      for (std::size_t k = 0; k < kMostSizes; ++k) sum.counts[k] += option.counts[k];
      if (seen.emplace(sum.counts, out.size()).second) out.push_back(sum);
    }
  return out;
}

Sums sums_of(const GpuPatterns& patterns, const Demands& demands, std::size_t gpus, std::int64_t most_slack) {
  Sums out;
  std::int64_t compute = patterns.sizes.compute_of(demands.settled);
  std::int64_t memory = patterns.sizes.memory_of(demands.settled);
  for (const Demand& demand : demands.each) {
    compute += demand.compute;
    memory += demand.memory;
  }
  const auto free = static_cast<std::int64_t>(gpus);
  const std::int64_t all_slack = free * patterns.compute_parts - compute;
  const std::int64_t slack = std::min(all_slack, most_slack);
  const std::int64_t memory_slack = free * patterns.memory_parts - memory;
  out.complete = all_slack <= most_slack && demands.settled == SizeCounts{};
  if (slack < 0 || memory_slack < 0) return out;
  std::size_t ways = 1;
  for (const Demand& demand : demands.each) {
    out.options.push_back(options_within(patterns.sizes, demand.rows, demand.rate, demand.compute + slack));
    out.complete &= out.options.back().complete;
    ways += out.options.back().ways.size();
  }
  const std::size_t width = std::clamp<std::size_t>(kBeamWork / ways, 100, 20'000);
  std::vector<Sum> sums(1);
  std::int64_t least_compute = 0, least_memory = 0;
  for (std::size_t i = 0; i < demands.each.size(); ++i) {
    least_compute += demands.each[i].compute;
    least_memory += demands.each[i].memory;
    sums = sums_with(sums, out.options[i], least_compute + slack, least_memory + memory_slack);
    std::ranges::stable_sort(sums, {}, [&](const Sum& sum) { return burden(patterns, sum); });
    if (sums.size() > width) {
      sums.resize(width);
      out.complete = false;
    }
    out.after.push_back(sums);
  }
  return out;
}

/// Instances of every service, and what each GPU holds of them.
struct Found {
  std::vector<SizeCounts> services = {};
  std::vector<SizeCounts> gpus = {};
};

std::vector<SizeCounts> ways_to(const Sums& sums, std::size_t last) {
  std::vector<SizeCounts> out(sums.after.size());
  for (std::size_t i = sums.after.size(); i-- > 0;) {
    const Sum& sum = sums.after[i][last];
    out[i] = sums.options[i].ways[sum.way].counts;
    last = sum.before;
  }
  return out;
}

struct Attempt {
  std::optional<Found> found = {};
  bool complete = true;
};

Attempt attempt(const GpuPatterns& patterns, const Demands& demands, std::size_t gpus, std::int64_t slack) {
  const Sums sums = sums_of(patterns, demands, gpus, slack);
  Attempt out{.complete = sums.complete};
  if (sums.after.size() != demands.each.size()) return out;
  std::size_t steps = kPackSteps;
  for (std::size_t i = 0; i < sums.after.back().size() && steps > 0; ++i) {
    SizeCounts instances = demands.settled;
    add_counts(instances, sums.after.back()[i].counts);
    Packing packing = pack(patterns, instances, gpus, steps);
    if (packing.gpus) {
      out.found = Found{ways_to(sums, i), *std::move(packing.gpus)};
      return out;
    }
    out.complete &= packing.complete;
  }
  out.complete &= steps > 0;
  return out;
}

/// The fewest parts for each, wherever they go.
Found found_greedily(const GpuPatterns& patterns, const Demands& demands) {
  Found out;
  SizeCounts all = demands.settled;
  for (const Demand& demand : demands.each) {
    const auto options = options_within(patterns.sizes, demand.rows, demand.rate, demand.compute);
    SizeCounts counts = options.ways.empty() ? SizeCounts{} : options.ways.front().counts;
    if (options.ways.empty()) {  // too many ways to look at: of the size that carries most for its parts
      std::size_t best = kMostSizes;
      for (std::size_t i = 0; i < patterns.sizes.count(); ++i)
        if (demand.rows[i] != nullptr &&
            (best == kMostSizes || demand.rows[i]->rate * patterns.sizes.compute[best] >
                                       demand.rows[best]->rate * patterns.sizes.compute[i]))
          best = i;
      counts[best] = static_cast<std::int32_t>(std::ceil(demand.rate / demand.rows[best]->rate));
    }
    add_counts(all, counts);
    out.services.push_back(counts);
  }
  out.gpus = pack_greedily(patterns, all);
  return out;
}

/// Puts a GPU's instances where they may stand, the largest first.
ServedGpu place_gpu(const MigTable& table, const InstanceSizes& sizes, const SizeCounts& counts,
                    std::span<const Demand> demands, const auto& service_for) {
  std::vector<std::size_t> profiles, size_of;
  for (std::size_t i = sizes.count(); i-- > 0;)
    for (std::int32_t n = 0; n < counts[i]; ++n) {
      profiles.push_back(sizes.profiles[i]);
      size_of.push_back(i);
    }
  const auto placed = hardware::place(table, profiles).value_or(std::vector<hardware::MigPlacement>{});
  ServedGpu out;
  for (std::size_t i = 0; i < placed.size(); ++i) {
    const std::size_t service = service_for(size_of[i]);
    const ServedProfile& row = *demands[service].rows[size_of[i]];
    out.push_back({placed[i], service, row.batch, row.processes, row.rate, row.latency});
  }
  std::ranges::sort(out, {}, [](const PlacedSegment& segment) { return segment.placement.start; });
  return out;
}

std::vector<ServedGpu> place_all(const MigTable& table, const GpuPatterns& patterns, const Demands& demands,
                                 Found found) {
  std::vector<ServedGpu> out;
  for (std::size_t i = 0; i < demands.each.size(); ++i)
    add_counts(found.services[i], demands.each[i].settled);
  const auto next_of = [&](std::size_t size) {
    std::size_t service = 0;
    while (found.services[service][size] == 0) ++service;
    --found.services[service][size];
    return service;
  };
  for (const SizeCounts& gpu : found.gpus)
    out.push_back(place_gpu(table, patterns.sizes, gpu, demands.each, next_of));
  return out;
}

struct Search {
  Found found;
  bool exhausted = false;
};

/// The fewest GPUs, from the bound on.
Search fewest_found(const GpuPatterns& patterns, const Demands& demands, std::size_t bound) {
  Search out{.found = found_greedily(patterns, demands)};
  const std::size_t most = out.found.gpus.size();
  for (std::size_t gpus = bound; gpus < most && gpus < bound + kMostTries; ++gpus) {
    Attempt tried = attempt(patterns, demands, gpus, kFirstSlack);
    if (!tried.found && !tried.complete) tried = attempt(patterns, demands, gpus, std::int64_t{1} << 40);
    if (tried.found) {
      out.found = *std::move(tried.found);
      return out;
    }
    out.exhausted = tried.complete && (gpus + 1 == most || gpus + 1 < bound + kMostTries);
  }
  return out;
}

std::size_t gpus_for(std::int64_t parts, int of_one) {
  return static_cast<std::size_t>((parts + of_one - 1) / of_one);
}

}  // namespace

AllErrors<ServicePlan> plan_services(const MigTable& table, std::span<const ServedProfile> profiles,
                                     std::span<const Service> services, double share_of_limit) {
  if (services.empty()) return std::unexpected(std::vector{Error{"there is no service"}});
  if (services.size() > kMostServices)
    return std::unexpected(std::vector{Error{fmt::format("there are more than {} services", kMostServices)}});
  const GpuPatterns patterns = gpu_patterns(table);
  const auto demands = demands_of(patterns, profiles, services, share_of_limit);
  if (!demands) return std::unexpected(demands.error());
  ServicePlan plan{.least_compute = demands->least[0], .least_memory = demands->least[1]};
  for (std::size_t i = 0; i < demands->least.size(); ++i)
    plan.bound = std::max(plan.bound, gpus_for(demands->least[i], patterns.yardsticks[i].capacity));
  // With fewer GPUs to plan together every way can be looked at; with more there are more ways.
  for (const std::size_t planned : {12, 4, 2}) {
    const Demands settled = with_most_settled(*demands, patterns, planned);
    Search search = fewest_found(patterns, settled, plan.bound);
    if (plan.gpus.empty() || search.found.gpus.size() < plan.gpus.size()) {
      plan.gpus = place_all(table, patterns, settled, std::move(search.found));
      plan.exhausted = search.exhausted;
    }
    if (plan.proven()) break;
  }
  return plan;
}

}  // namespace plimsoll::plan
