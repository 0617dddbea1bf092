#include "plan/mig/demands.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/printable.hpp"
#include "base/text.hpp"

namespace plimsoll::plan {
namespace {

double gpu_rate(const SizeCounts& pattern, const BestRows& rows) {
  double sum = 0;
  for (std::size_t i = 0; i < kMostSizes; ++i)
    if (rows[i] != nullptr) sum += pattern[i] * rows[i]->rate;
  return sum;
}

/// Of a service that fills many GPUs most is settled: what carries most of it on one GPU, again and again.
/// The rest, so many GPUs of it, is planned.
void settle_most(Demand& demand, const GpuPatterns& patterns, std::size_t planned) {
  const auto best = std::ranges::max_element(
      patterns.patterns, {}, [&](const SizeCounts& pattern) { return gpu_rate(pattern, demand.rows); });
  const double most = gpu_rate(*best, demand.rows);
  const double fills = std::floor(demand.rate / most);
  if (!(fills > static_cast<double>(planned))) return;
  const double times = fills - static_cast<double>(planned);
  for (std::size_t i = 0; i < kMostSizes; ++i)
    if (demand.rows[i] != nullptr) demand.settled[i] = (*best)[i] * static_cast<std::int32_t>(times);
  demand.rate -= times * most;
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

}  // namespace

void add_counts(SizeCounts& sum, const SizeCounts& more) {
  for (std::size_t i = 0; i < kMostSizes; ++i) sum[i] += more[i];
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

Demands with_most_settled(Demands demands, const GpuPatterns& patterns, std::size_t planned) {
  const InstanceSizes& sizes = patterns.sizes;
  const std::int64_t most = static_cast<std::int64_t>(kMostServiceGpus) * patterns.memory_parts * 2;
  for (Demand& demand : demands.each) {
    settle_most(demand, patterns, planned);
    demand.compute = fewest_parts(demand.rows, sizes.compute, demand.rate, most).value_or(0);
    demand.memory = fewest_parts(demand.rows, sizes.memory, demand.rate, most).value_or(0);
    add_counts(demands.settled, demand.settled);
  }
  return demands;
}

}  // namespace plimsoll::plan
