#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "plan/schedule/planner.hpp"

namespace plimsoll::plan::schedule {

/// Numbers that look drawn, the same each time.
class TestDraws {
 public:
  explicit TestDraws(std::uint64_t seed) : state_(seed * 2654435761ULL + 12345) { uniform(); }
  double uniform() {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<double>(state_ >> 11U) * 0x1p-53;
  }
  double between(double low, double high) { return low + (high - low) * uniform(); }
  std::size_t below(std::size_t count) {
    return static_cast<std::size_t>(uniform() * static_cast<double>(count));
  }

 private:
  std::uint64_t state_;
};

/// Kinds that slow each other down by what they share, otherwise in each way: turns cost something, MPS
/// depends on who is beside whom.
struct TestWorld {
  std::vector<Kind> kinds;
  std::vector<Job> jobs;
  Fleet fleet;
  std::vector<std::vector<double>> conflicts;  ///< of kinds, under MPS

  GroupRates rates(std::span<const std::uint32_t> group, std::size_t setup) const {
    GroupRates out;
    const Setup& how = fleet.setups[setup];
    double share = 0;
    for (const std::uint32_t kind : group) share += kinds[kind].share;
    for (std::size_t i = 0; i < group.size(); ++i) {
      double speed = 1;
      if (how.way == share::Way::naive && group.size() > 1) speed = 0.97 / std::max(1.0, share);
      if (how.way == share::Way::mig) speed = std::min(1.0, 0.45 / kinds[group[i]].share + 0.1);
      if (how.way == share::Way::mps) {
        for (std::size_t j = 0; j < group.size(); ++j)
          if (i != j) speed /= 1 + conflicts[group[i]][group[j]];
        speed *= std::min(1.0, how.cap / std::min(1.0, kinds[group[i]].share));
        speed = std::min(speed, 1.3 / std::max(1.3, share));
      }
      out.speeds.push_back(speed);
    }
    out.watts = 100 + 400 * std::min(1.0, share);
    return out;
  }
  Rates known() const {
    return Rates(
        [this](std::span<const std::uint32_t> group, std::size_t setup) { return rates(group, setup); });
  }
};

inline TestWorld random_world(std::uint64_t seed, std::size_t most_jobs, std::size_t most_gpus) {
  TestDraws draws(seed);
  TestWorld out;
  const std::size_t kinds = 2 + draws.below(4), jobs = 2 + draws.below(most_jobs - 1);
  for (std::size_t i = 0; i < kinds; ++i)
    out.kinds.push_back({.name = fmt::format("k{}", i),
                         .share = draws.between(0.1, 1),
                         .memory = Bytes::rounded(draws.between(2, 45) * 1e9),
                         .activity = draws.between(0.1, 1)});
  out.conflicts.assign(kinds, std::vector<double>(kinds));
  for (auto& row : out.conflicts)
    for (double& conflict : row) conflict = draws.between(0, 1.2) * draws.uniform();
  for (std::size_t i = 0; i < jobs; ++i)
    out.jobs.push_back({.name = fmt::format("j{}", i),
                        .kind = draws.below(kinds),
                        .seconds = draws.between(10, 100),
                        .arrival = draws.uniform() < 0.3 ? draws.between(0, 60) : 0});
  out.fleet.gpus = 1 + draws.below(most_gpus);
  out.fleet.setups = {{.way = share::Way::exclusive},
                      {.way = share::Way::naive},
                      {.way = share::Way::mps},
                      {.way = share::Way::mps, .cap = 0.5},
                      {.way = share::Way::mig, .profile = "half"}};
  const Bytes whole = Bytes::rounded(80e9), half = Bytes::rounded(40e9);
  out.fleet.layouts = {{"exclusive", {{0, whole}}},
                       {"naive", {{1, whole}}},
                       {"mps", {{2, whole}}},
                       {"mps 50", {{3, whole}}},
                       {"halves", {{4, half}, {4, half}}}};
  return out;
}

}  // namespace plimsoll::plan::schedule
