#pragma once
#include <span>
#include <string>
#include <vector>

#include "share/beside.hpp"

namespace plimsoll::share {

/// Several that ran together, and how fast each was against itself alone.
struct Observation {
  std::vector<Workload> workloads;
  Sharing sharing;
  std::vector<double> speeds;
};

struct Refinement {
  SharingFigures figures = {};
  std::size_t groups = 0;
  /// Mean of |log(predicted / measured)| of speeds in groups that were left out of what was fitted: with the
  /// figures as they were, and as the others say.
  double before = 0, after = 0;
  [[nodiscard]] bool is_better() const { return after < before; }
};

inline constexpr std::size_t kFewestObservations = 4, kMostObservations = 64;

/// Figures that say better what was observed; those that no group depends on stay as they are. Fails where
/// there are too few to leave some out.
[[nodiscard]] Result<Refinement> refine(std::span<const Observation> observations,
                                        const hardware::Device& device, const SharingFigures& figures);

}  // namespace plimsoll::share
