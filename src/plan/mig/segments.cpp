#include "plan/mig/segments.hpp"

#include <algorithm>
#include <cmath>

namespace plimsoll::plan {
namespace {

constexpr std::size_t kMostOptions = 2'000;
constexpr std::size_t kMostOptionSteps = 200'000;

/// Walks over the numbers of instances, the largest size first.
struct OptionSearch {
  const InstanceSizes& sizes;
  const BestRows& rows;
  double rate;
  std::int64_t budget = 0;        ///< parts of compute, exactly
  std::vector<double> most = {};  ///< by parts of compute
  ServiceOptions out = {};
  std::size_t steps = 0;

  [[nodiscard]] bool can_reach(double have, std::int64_t left) const {
    if (left < 0) return false;
    const auto at = std::min<std::size_t>(static_cast<std::size_t>(left), most.size() - 1);
    // Sums in another order differ in their last digits.
    return have + most[at] >= rate * (1 - 1e-9);
  }

  [[nodiscard]] double rate_of(const SizeCounts& counts) const {
    double sum = 0;
    for (std::size_t i = 0; i < sizes.count(); ++i)
      if (counts[i] > 0) sum += counts[i] * rows[i]->rate;
    return sum;
  }

  /// Whether each instance is needed.
  [[nodiscard]] bool is_minimal(SizeCounts counts) const {
    for (std::size_t i = 0; i < sizes.count(); ++i) {
      if (counts[i] == 0) continue;
      --counts[i];
      if (rate_of(counts) >= rate) return false;
      ++counts[i];
    }
    return true;
  }

  void keep(const SizeCounts& counts) {
    if (sizes.compute_of(counts) != budget || rate_of(counts) < rate || !is_minimal(counts)) return;
    if (out.ways.size() >= kMostOptions) {
      out.complete = false;
      return;
    }
    out.ways.push_back({counts, sizes.compute_of(counts), sizes.memory_of(counts)});
  }

  // NOLINTNEXTLINE(misc-no-recursion): as deep as there are sizes
  void walk(std::size_t size, SizeCounts& counts, double have, std::int64_t left) {
    if (++steps > kMostOptionSteps) {
      out.complete = false;
      return;
    }
    if (have >= rate || size == 0) return keep(counts);
    const std::size_t at = size - 1;
    const SizeCounts before = counts;
    double sum = have;
    for (std::int64_t room = left; can_reach(sum, room); room -= sizes.compute[at]) {
      walk(at, counts, sum, room);
      if (rows[at] == nullptr || sum >= rate) break;
      ++counts[at];
      sum += rows[at]->rate;
    }
    counts = before;
  }
};

}  // namespace

std::int64_t InstanceSizes::compute_of(const SizeCounts& counts) const {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < count(); ++i) sum += std::int64_t{counts[i]} * compute[i];
  return sum;
}

std::int64_t InstanceSizes::memory_of(const SizeCounts& counts) const {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < count(); ++i) sum += std::int64_t{counts[i]} * memory[i];
  return sum;
}

InstanceSizes sizes_of(const hardware::MigTable& table) {
  InstanceSizes out;
  for (int parts = 1; parts <= table.compute_parts && out.count() + 1 < kMostSizes; ++parts)
    if (const auto profile = table.of_compute(parts)) {
      out.profiles.push_back(*profile);
      out.compute.push_back(parts);
      out.memory.push_back(table.profiles[*profile].memory);
    }
  return out;
}

BestRows best_rows(const InstanceSizes& sizes, std::span<const ServedProfile> profiles,
                   const Service& service, Seconds longest_batch) {
  BestRows best{};
  for (const ServedProfile& row : profiles) {
    if (row.model != service.model || !(row.latency < longest_batch) || !(row.rate > 0)) continue;
    const auto size = std::ranges::find(sizes.compute, row.compute);
    if (size == sizes.compute.end()) continue;
    const ServedProfile*& so_far = best[static_cast<std::size_t>(size - sizes.compute.begin())];
    if (so_far == nullptr || row.rate > so_far->rate ||
        (row.rate == so_far->rate && row.latency < so_far->latency))
      so_far = &row;
  }
  return best;
}

std::optional<std::vector<double>> rates_by_parts(const BestRows& rows, std::span<const int> parts,
                                                  double rate, std::int64_t most_parts) {
  for (std::size_t i = 0; i < parts.size(); ++i)  // what takes no part carries anything
    if (rows[i] != nullptr && parts[i] == 0) return std::vector{rate};
  std::vector<double> most{0};
  while (most.back() < rate) {
    const auto at = static_cast<std::int64_t>(most.size());
    if (at > most_parts) return std::nullopt;
    double best = most.back();
    for (std::size_t i = 0; i < parts.size(); ++i)
      if (rows[i] != nullptr && parts[i] <= at)
        best = std::max(best, most[static_cast<std::size_t>(at - parts[i])] + rows[i]->rate);
    most.push_back(best);
  }
  return most;
}

ServiceOptions options_within(const InstanceSizes& sizes, const BestRows& rows, double rate,
                              std::int64_t compute) {
  OptionSearch search{sizes, rows, rate};
  auto most = rates_by_parts(rows, sizes.compute, rate, compute);
  if (!most) return {};
  search.most = *std::move(most);
  // The fewest parts first, so that what is left out where there are too many is what takes more.
  for (search.budget = static_cast<std::int64_t>(search.most.size()) - 1;
       search.budget <= compute && search.out.complete; ++search.budget) {
    SizeCounts counts{};
    search.walk(sizes.count(), counts, 0, search.budget);
  }
  std::ranges::stable_sort(search.out.ways, {},
                           [](const ServiceOption& way) { return std::pair(way.compute, way.memory); });
  return std::move(search.out);
}

}  // namespace plimsoll::plan
