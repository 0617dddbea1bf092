#include "share/refine.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace plimsoll::share {
namespace {

constexpr std::size_t kFolds = 5;
constexpr double kEnoughToRefine = 0.03;
// Half an hour of groups is little against what the figures come from: a figure that doubles has to lower
// the mean error by this.
constexpr double kReluctance = 0.01;

/// Figures that are moved together, by one factor.
struct Knob {
  bool (*matters)(const Sharing& sharing);
  std::array<double SharingFigures::*, 4> figures;  ///< null: no more
};
constexpr bool takes_turns(const Sharing& sharing) {
  return sharing.way == Way::naive;
}
constexpr bool is_together(const Sharing& sharing) {
  return sharing.way == Way::mps;
}
constexpr bool is_capped(const Sharing& sharing) {
  return sharing.way == Way::mps && !sharing.caps.empty();
}
constexpr std::array kKnobs = {
    Knob{takes_turns, {&SharingFigures::change, &SharingFigures::refill}},
    Knob{is_together,
         {&SharingFigures::crowding_memory, &SharingFigures::crowding_compute,
          &SharingFigures::crowding_launch}},
    Knob{is_together, {&SharingFigures::client_launch, &SharingFigures::crowded_launch}},
    Knob{is_together, {&SharingFigures::client_host}},
    Knob{is_capped, {&SharingFigures::cap_compute, &SharingFigures::cap_memory, &SharingFigures::cap_launch}},
};
using Factors = std::array<double, kKnobs.size()>;
constexpr std::array kTried = {0.5, 0.71, 0.84, 1.19, 1.41, 2.0};
constexpr double kMostFactor = 4;

SharingFigures scaled(SharingFigures figures, const Factors& factors) {
  for (std::size_t i = 0; i < kKnobs.size(); ++i)
    for (double SharingFigures::* const figure : kKnobs[i].figures)
      if (figure != nullptr) figures.*figure *= factors[i];
  return figures;
}

/// Mean over some of the groups of what a speed is off; `skip` says which are left out.
double error_of(std::span<const Observation* const> observations, const hardware::Device& device,
                const SharingFigures& figures) {
  double sum = 0;
  std::size_t count = 0;
  for (const Observation* observation : observations) {
    std::vector<const Workload*> workloads;
    for (const Workload& workload : observation->workloads) workloads.push_back(&workload);
    const auto told = beside(workloads, device, observation->sharing, figures, {.enough = kEnoughToRefine});
    if (!told) continue;
    for (std::size_t i = 0; i < told->members.size(); ++i) {
      sum +=
          std::abs(std::log(std::max(told->members[i].speed, 1e-6) / std::max(observation->speeds[i], 1e-6)));
      ++count;
    }
  }
  return count > 0 ? sum / static_cast<double>(count) : 0;
}

/// One knob after the other, twice over, as far as it pays.
SharingFigures fitted(std::span<const Observation* const> observations, const hardware::Device& device,
                      const SharingFigures& figures) {
  Factors factors;
  factors.fill(1);
  const auto cost = [&](const Factors& of) {
    double moved = 0;
    for (const double factor : of) moved += std::abs(std::log2(factor));
    return error_of(observations, device, scaled(figures, of)) + kReluctance * moved;
  };
  double best = cost(factors);
  for (int round = 0; round < 2; ++round)
    for (std::size_t knob = 0; knob < kKnobs.size(); ++knob) {
      if (std::ranges::none_of(observations,
                               [&](const Observation* o) { return kKnobs[knob].matters(o->sharing); }))
        continue;
      const Factors from = factors;
      for (const double factor : kTried) {
        Factors other = from;
        other[knob] = std::clamp(from[knob] * factor, 1 / kMostFactor, kMostFactor);
        if (const double found = cost(other); found < best) {
          best = found;
          factors = other;
        }
      }
    }
  return scaled(figures, factors);
}

}  // namespace

Result<Refinement> refine(std::span<const Observation> observations, const hardware::Device& device,
                          const SharingFigures& figures) {
  if (observations.size() < kFewestObservations)
    return std::unexpected(Error{
        fmt::format("{} group{} of runs that were predicted and measured", observations.size(),
                    observations.size() == 1 ? " is" : "s are"),
        "",
        fmt::format("{} are needed, so that some can be left out; `plimsoll run` records one for jobs of a "
                    "workload that have an `estimate`",
                    kFewestObservations)});
  std::vector<const Observation*> all;
  for (const Observation& one : observations.first(std::min(observations.size(), kMostObservations)))
    all.push_back(&one);
  Refinement out{.groups = all.size()};
  const std::size_t folds = std::min(kFolds, all.size());
  for (std::size_t fold = 0; fold < folds; ++fold) {
    std::vector<const Observation*> kept, left_out;
    for (std::size_t i = 0; i < all.size(); ++i) (i % folds == fold ? left_out : kept).push_back(all[i]);
    const double part = static_cast<double>(left_out.size()) / static_cast<double>(all.size());
    out.before += part * error_of(left_out, device, figures);
    out.after += part * error_of(left_out, device, fitted(kept, device, figures));
  }
  out.figures = out.is_better() ? fitted(all, device, figures) : figures;
  if (out.is_better()) out.figures.provenance = Provenance::measured;
  return out;
}

}  // namespace plimsoll::share
