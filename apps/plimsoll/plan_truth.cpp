#include "plan_truth.hpp"

#include <algorithm>
#include <memory>

#include "base/files.hpp"
#include "plan_measured.hpp"
#include "told_errors.hpp"

namespace plimsoll {
namespace {

using plan::schedule::GroupRates;
using plan::schedule::Rates;

constexpr std::size_t kMostTruth = std::size_t{64} << 20;

/// From -1 to 1, the same for the same question.
double drawn(std::uint64_t seed, std::span<const std::uint32_t> kinds, std::size_t setup,
             std::size_t member) {
  std::uint64_t state = seed * 0x9E3779B97F4A7C15ULL + setup * 1315423911ULL + member + 1;
  for (const std::uint32_t kind : kinds) state = (state ^ (kind + 1)) * 0xBF58476D1CE4E5B9ULL + 11;
  state ^= state >> 31U;
  state *= 0x94D049BB133111EBULL;
  state ^= state >> 29U;
  return 2 * static_cast<double>(state >> 11U) * 0x1p-53 - 1;
}

}  // namespace

Result<Rates> true_rates(const TruthOptions& options, const PlanQuestion& question,
                         const std::vector<plan::schedule::Setup>& setups, Rates& beliefs) {
  auto measured = std::make_shared<MeasuredGroups>();
  if (!options.measured.empty()) {
    const auto text = read_file(options.measured, kMostTruth);
    PLIMSOLL_TRY(text);
    auto read = read_measured_groups(*text);
    if (!read) return std::unexpected(all_told(read.error(), options.measured, "simulated"));
    *measured = *std::move(read);
  }
  return Rates([measured, options, &question, &setups, &beliefs](std::span<const std::uint32_t> kinds,
                                                                 std::size_t setup) {
    GroupRates out = beliefs.of(kinds, setup);
    if (kinds.size() < 2) return out;  // alone it was measured
    std::vector<std::pair<std::string, std::size_t>> names;
    for (std::size_t i = 0; i < kinds.size(); ++i) names.emplace_back(question.kinds[kinds[i]].name, i);
    std::ranges::sort(names);
    std::vector<std::string> sorted;
    for (const auto& [name, at] : names) sorted.push_back(name);
    const auto found = setups[setup].cap < 1
                           ? measured->end()
                           : measured->find({std::string(share::name(setups[setup].way)), sorted});
    for (std::size_t i = 0; i < names.size(); ++i) {
      double& speed = out.speeds[names[i].second];
      if (found != measured->end())
        speed = found->second[i];
      else
        speed *= 1 + options.disturbed * drawn(options.seed, kinds, setup, names[i].second);
      speed = std::min(speed, 1.1);
    }
    return out;
  });
}

}  // namespace plimsoll
