#include "plan/mig/services.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/printable.hpp"
#include "base/text.hpp"
#include "plan/mig/packing.hpp"
#include "plan/mig/segments.hpp"

namespace plimsoll::plan {
namespace {

using hardware::MigTable;

constexpr std::size_t kMostTries = 8;        // numbers of GPUs
constexpr std::size_t kPackSteps = 300'000;  // per number of GPUs
constexpr std::size_t kBeamWork = 20'000'000;
constexpr std::int64_t kFirstSlack = 2;  // parts beyond the fewest, which mostly suffice

/// A service, and how much it asks of GPUs.
struct Demand {
  BestRows rows = {};
  double rate = 0;                       ///< that remains where whole GPUs carry a part of it
  std::size_t whole = 0;                 ///< GPUs that are all its own
  SizeCounts whole_gpu = {};             ///< what each of those holds
  std::int64_t compute = 0, memory = 0;  ///< the fewest parts for what remains
};

struct Demands {
  std::vector<Demand> each = {};
  std::vector<std::int64_t> least = {};  ///< the fewest parts for all of it, by each yardstick
  std::size_t whole = 0;
};

double gpu_rate(const SizeCounts& pattern, const BestRows& rows) {
  double sum = 0;
  for (std::size_t i = 0; i < kMostSizes; ++i)
    if (rows[i] != nullptr) sum += pattern[i] * rows[i]->rate;
  return sum;
}

/// A service that fills many GPUs has most of them to itself; the rest is planned with the others'.
void set_whole_apart(Demand& demand, const GpuPatterns& patterns, std::size_t planned) {
  const auto best = std::ranges::max_element(
      patterns.patterns, {}, [&](const SizeCounts& pattern) { return gpu_rate(pattern, demand.rows); });
  const double most = gpu_rate(*best, demand.rows);
  const double fills = std::floor(demand.rate / most);
  if (!(fills > static_cast<double>(planned))) return;
  demand.whole = static_cast<std::size_t>(fills) - planned;
  demand.whole_gpu = *best;
  for (std::size_t i = 0; i < kMostSizes; ++i)
    if (demand.rows[i] == nullptr) demand.whole_gpu[i] = 0;
  demand.rate -= static_cast<double>(demand.whole) * most;
}

Error why_not(const Service& service, std::span<const ServedProfile> profiles, Seconds longest) {
  const ServedProfile* quickest = nullptr;
  for (const ServedProfile& row : profiles)
    if (row.model == service.model && (quickest == nullptr || row.latency < quickest->latency))
      quickest = &row;
  const std::string where = quote(service.name);
  if (quickest == nullptr) return {fmt::format("there is no profile of {}", quote(service.model)), where};
  return {fmt::format("no batch takes less than {}, as its limit of {} asks: the quickest takes {}",
                      text(longest), text(service.limit), text(quickest->latency)),
          where};
}

/// The fewest parts for a rate; nothing where there are more than any plan has.
std::optional<std::int64_t> fewest_parts(const BestRows& rows, std::span<const int> parts, double rate,
                                         std::int64_t most) {
  const auto rates = rates_by_parts(rows, parts, rate, most);
  if (!rates) return std::nullopt;
  return static_cast<std::int64_t>(rates->size()) - 1;
}

AllErrors<Demands> demands_of(const GpuPatterns& patterns, std::span<const ServedProfile> profiles,
                              std::span<const Service> services, double share_of_limit) {
  Demands out{.least = std::vector<std::int64_t>(patterns.yardsticks.size())};
  std::vector<Error> wrong;
  for (const Service& service : services) {
    const Seconds longest = service.limit * share_of_limit;
    Demand demand{.rows = best_rows(patterns.sizes, profiles, service, longest), .rate = service.rate};
    if (std::ranges::none_of(demand.rows, [](const ServedProfile* row) { return row != nullptr; })) {
      wrong.push_back(why_not(service, profiles, longest));
      continue;
    }
    for (std::size_t i = 0; i < out.least.size(); ++i) {
      const Yardstick& yardstick = patterns.yardsticks[i];
      const std::int64_t most = static_cast<std::int64_t>(kMostServiceGpus) * yardstick.capacity;
      const auto parts = fewest_parts(demand.rows, yardstick.parts, service.rate, most - out.least[i]);
      if (!parts)
        return std::unexpected(std::vector{
            Error{fmt::format("with those before it, it needs more than {} GPUs", kMostServiceGpus),
                  quote(service.name)}});
      out.least[i] += *parts;
    }
    out.each.push_back(demand);
  }
  if (!wrong.empty()) return std::unexpected(std::move(wrong));
  return out;
}

/// Leaves so many GPUs of each service to be planned with the others'.
Demands with_whole_apart(Demands demands, const GpuPatterns& patterns, std::size_t planned) {
  const InstanceSizes& sizes = patterns.sizes;
  const std::int64_t most = static_cast<std::int64_t>(kMostServiceGpus) * patterns.memory_parts * 2;
  for (Demand& demand : demands.each) {
    set_whole_apart(demand, patterns, planned);
    demand.compute = fewest_parts(demand.rows, sizes.compute, demand.rate, most).value_or(0);
    demand.memory = fewest_parts(demand.rows, sizes.memory, demand.rate, most).value_or(0);
    demands.whole += demand.whole;
  }
  return demands;
}

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
  std::int64_t compute = 0, memory = 0;
  for (const Demand& demand : demands.each) {
    compute += demand.compute;
    memory += demand.memory;
  }
  const auto free = static_cast<std::int64_t>(gpus - demands.whole);
  const std::int64_t all_slack = free * patterns.compute_parts - compute;
  const std::int64_t slack = std::min(all_slack, most_slack);
  const std::int64_t memory_slack = free * patterns.memory_parts - memory;
  out.complete = all_slack <= most_slack && demands.whole == 0;
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
    Packing packing = pack(patterns, sums.after.back()[i].counts, gpus - demands.whole, steps);
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
  SizeCounts all{};
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
    for (std::size_t i = 0; i < kMostSizes; ++i) all[i] += counts[i];
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
  for (std::size_t s = 0; s < demands.each.size(); ++s)
    for (std::size_t i = 0; i < demands.each[s].whole; ++i)
      out.push_back(place_gpu(table, patterns.sizes, demands.each[s].whole_gpu, demands.each,
                              [s](std::size_t) { return s; }));
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
  const std::size_t most = out.found.gpus.size() + demands.whole;
  const std::size_t least = std::max(bound, demands.whole);
  for (std::size_t gpus = least; gpus < most && gpus < least + kMostTries; ++gpus) {
    Attempt tried = attempt(patterns, demands, gpus, kFirstSlack);
    if (!tried.found && !tried.complete) tried = attempt(patterns, demands, gpus, std::int64_t{1} << 40);
    if (tried.found) {
      out.found = *std::move(tried.found);
      return out;
    }
    out.exhausted = tried.complete && (gpus + 1 == most || gpus + 1 < least + kMostTries);
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
    const Demands apart = with_whole_apart(*demands, patterns, planned);
    Search search = fewest_found(patterns, apart, plan.bound);
    const std::size_t gpus = search.found.gpus.size() + apart.whole;
    if (plan.gpus.empty() || gpus < plan.gpus.size()) {
      plan.gpus = place_all(table, patterns, apart, std::move(search.found));
      plan.exhausted = search.exhausted;
    }
    if (plan.proven()) break;
  }
  return plan;
}

}  // namespace plimsoll::plan
