#include "plan/mig/packing.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <set>
#include <utility>

namespace plimsoll::plan {
namespace {

bool nothing_left(const SizeCounts& counts) {
  return std::ranges::all_of(counts, [](std::int32_t n) { return n == 0; });
}

/// What a GPU of this pattern takes of what is left.
SizeCounts taken_by(const SizeCounts& pattern, const SizeCounts& left) {
  SizeCounts out{};
  for (std::size_t i = 0; i < kMostSizes; ++i) out[i] = std::min(pattern[i], left[i]);
  return out;
}

SizeCounts without(SizeCounts left, const SizeCounts& taken) {
  for (std::size_t i = 0; i < kMostSizes; ++i) left[i] -= taken[i];
  return left;
}

/// What GPUs may take next: the largest that is left must go somewhere, so that only patterns with it are
/// tried, the fullest first.
std::vector<SizeCounts> next_gpus(const GpuPatterns& patterns, const SizeCounts& left) {
  std::size_t largest = kMostSizes;
  while (largest > 0 && left[largest - 1] == 0) --largest;
  std::vector<SizeCounts> out;
  if (largest == 0) return out;
  for (const SizeCounts& pattern : patterns.patterns) {
    if (pattern[largest - 1] == 0) continue;
    const SizeCounts taken = taken_by(pattern, left);
    if (std::ranges::find(out, taken) == out.end()) out.push_back(taken);
  }
  std::ranges::stable_sort(out, std::greater(), [&](const SizeCounts& taken) {
    return std::pair(patterns.sizes.compute_of(taken), patterns.sizes.memory_of(taken));
  });
  return out;
}

/// How many GPUs alike are filled at once: where very many could be, all but some, which leaves the search as
/// deep as a small one.
std::size_t settled_times(const SizeCounts& taken, const SizeCounts& left) {
  constexpr std::int32_t kAlikeSearched = 20;
  std::int32_t times = std::numeric_limits<std::int32_t>::max();
  for (std::size_t i = 0; i < kMostSizes; ++i)
    if (taken[i] > 0) times = std::min(times, left[i] / taken[i]);
  return static_cast<std::size_t>(std::max(1, times - kAlikeSearched));
}

struct PackingSearch {
  const GpuPatterns& patterns;
  std::size_t& steps;
  std::set<SizeCounts> hopeless = {};  ///< with the GPUs that were left then, which what is left decides
  std::vector<SizeCounts> gpus = {};
  bool complete = true;

  // NOLINTNEXTLINE(misc-no-recursion): as deep as there are GPUs, of which there are few
  bool fill(const SizeCounts& left, std::size_t free) {
    if (nothing_left(left)) return true;
    const auto all = static_cast<std::int64_t>(free);
    for (const Yardstick& yardstick : patterns.yardsticks)
      if (yardstick.of(left) > all * yardstick.capacity) return false;
    SizeCounts key = left;
    key[kMostSizes - 1] = static_cast<std::int32_t>(free);  // no family has so many sizes
    if (hopeless.contains(key)) return false;
    if (steps == 0) {
      complete = false;
      return false;
    }
    --steps;
    for (const SizeCounts& taken : next_gpus(patterns, left)) {
      const std::size_t alike = settled_times(taken, left);
      if (alike > 1) complete = false;
      const std::size_t before = gpus.size();
      SizeCounts rest = left;
      for (std::size_t i = 0; i < alike; ++i) {
        gpus.push_back(taken);
        rest = without(rest, taken);
      }
      if (alike <= free && fill(rest, free - alike)) return true;
      gpus.resize(before);
      if (alike > 1 || steps == 0) return false;
    }
    hopeless.insert(key);
    return false;
  }
};

/// How many instances that are no smaller than this size a GPU holds at most.
Yardstick no_smaller(const GpuPatterns& patterns, std::size_t size) {
  Yardstick out{.parts = std::vector<int>(patterns.sizes.count()), .capacity = 1};
  for (std::size_t i = size; i < out.parts.size(); ++i) out.parts[i] = 1;
  for (const SizeCounts& pattern : patterns.patterns)
    out.capacity = std::max(out.capacity, static_cast<int>(out.of(pattern)));
  return out;
}

/// So many shares of the compute to so many of the memory: an instance that takes more of one than of the
/// other is told by neither alone.
Yardstick mixture(const GpuPatterns& patterns, int compute, int memory) {
  Yardstick out{.parts = {}, .capacity = 1};
  for (std::size_t i = 0; i < patterns.sizes.count(); ++i)
    out.parts.push_back(compute * patterns.memory_parts * patterns.sizes.compute[i] +
                        memory * patterns.compute_parts * patterns.sizes.memory[i]);
  for (const SizeCounts& pattern : patterns.patterns)
    out.capacity = std::max(out.capacity, static_cast<int>(out.of(pattern)));
  return out;
}

}  // namespace

std::int64_t Yardstick::of(const SizeCounts& counts) const {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) sum += std::int64_t{counts[i]} * parts[i];
  return sum;
}

GpuPatterns gpu_patterns(const hardware::MigTable& table) {
  GpuPatterns out{
      .sizes = sizes_of(table), .compute_parts = table.compute_parts, .memory_parts = table.memory_parts};
  const auto layouts = maximal_layouts(table, out.sizes.profiles);
  for (const ProfileCounts& multiset : multisets_of(table, layouts)) {
    SizeCounts counts{};
    for (std::size_t i = 0; i < out.sizes.count(); ++i) counts[i] = multiset[out.sizes.profiles[i]];
    out.patterns.push_back(counts);
  }
  out.yardsticks = {{out.sizes.compute, out.compute_parts}, {out.sizes.memory, out.memory_parts}};
  for (const auto& [compute, memory] : {std::pair(1, 1), std::pair(2, 1), std::pair(1, 2)})
    out.yardsticks.push_back(mixture(out, compute, memory));
  for (std::size_t i = 0; i < out.sizes.count(); ++i) out.yardsticks.push_back(no_smaller(out, i));
  return out;
}

Packing pack(const GpuPatterns& patterns, const SizeCounts& instances, std::size_t gpus, std::size_t& steps) {
  PackingSearch search{patterns, steps};
  if (search.fill(instances, gpus)) return {.gpus = std::move(search.gpus)};
  return {.gpus = {}, .complete = search.complete};
}

std::vector<SizeCounts> pack_greedily(const GpuPatterns& patterns, SizeCounts instances) {
  std::vector<SizeCounts> out;
  while (!nothing_left(instances)) {
    out.push_back(next_gpus(patterns, instances).front());
    instances = without(instances, out.back());
  }
  return out;
}

}  // namespace plimsoll::plan
