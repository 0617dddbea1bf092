#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plan/mig/services.hpp"

/// What one service can be cut into. Private to plan.
namespace plimsoll::plan {

/// Sizes of instances that services are planned on; no family has more.
inline constexpr std::size_t kMostSizes = 8;
/// How many instances of each size, the smallest first.
using SizeCounts = std::array<std::int32_t, kMostSizes>;

/// The sizes of a table: one profile for every number of compute parts.
struct InstanceSizes {
  std::vector<std::size_t> profiles = {};  ///< of the table, the smallest first
  std::vector<int> compute = {}, memory = {};
  [[nodiscard]] std::size_t count() const { return profiles.size(); }
  [[nodiscard]] std::int64_t compute_of(const SizeCounts& counts) const;
  [[nodiscard]] std::int64_t memory_of(const SizeCounts& counts) const;
};
[[nodiscard]] InstanceSizes sizes_of(const hardware::MigTable& table);

/// The quickest row for each size that holds a limit; nothing where none does.
using BestRows = std::array<const ServedProfile*, kMostSizes>;
[[nodiscard]] BestRows best_rows(const InstanceSizes& sizes, std::span<const ServedProfile> profiles,
                                 const Service& service, Seconds longest_batch);

/// most[c]: the highest rate that c parts carry, where an instance of a size has parts[size] of them; up to
/// the first that carries `rate`. Nothing where that takes more than `most_parts`.
[[nodiscard]] std::optional<std::vector<double>> rates_by_parts(const BestRows& rows,
                                                                std::span<const int> parts, double rate,
                                                                std::int64_t most_parts);

/// A way to carry a service: without any one of its instances the rate is not met.
struct ServiceOption {
  SizeCounts counts = {};
  std::int64_t compute = 0, memory = 0;
};
struct ServiceOptions {
  std::vector<ServiceOption> ways = {};  ///< fewest parts of compute first
  bool complete = true;                  ///< there are no others
};
/// Every way within so many parts of compute, as far as there are not too many.
[[nodiscard]] ServiceOptions options_within(const InstanceSizes& sizes, const BestRows& rows, double rate,
                                            std::int64_t compute);

}  // namespace plimsoll::plan
