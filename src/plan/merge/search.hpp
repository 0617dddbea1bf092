#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"

/// Which groups to share, found by trials: of each only training says whether the models stay at their
/// targets. Pure: what a trial comes to is given by an oracle.
namespace plimsoll::plan::merge {

/// A group as the search sees it.
struct Candidate {
  Bytes bytes = {};   ///< of one copy
  int members = 2;    ///< layers that may share it
  double effort = 1;  ///< how hard it is held to be, against the others; above 0. A guess, nothing more
};

/// By candidate: how many of its first members share one set of weights; 0: each has its own.
using Sharing = std::vector<int>;
[[nodiscard]] Bytes saved_by(const std::vector<Candidate>& candidates, const Sharing& sharing);

/// What came of one joint training.
struct Trial {
  bool holds = false;  ///< every model stays at or above its target
  double epochs = 0;   ///< spent on it, whether it held or not
  /// Of the model that fares worst: its accuracy less its target, as a share of what it may lose; 1 where
  /// nothing is lost, below 0 where it does not hold.
  double margin = 0;
};
/// Trains what `wanted` says, beginning with the weights that `held` left.
using Oracle = std::function<Trial(const Sharing& held, const Sharing& wanted)>;

struct Found {
  Sharing sharing = {};
  Bytes saved = {};
  double epochs = 0;  ///< of all trials
  int trials = 0;
};

/// As GEMEL published it: the heaviest group first, added to what holds; where that does not hold, the first
/// half of its members, until fewer than two are left.
[[nodiscard]] Found search_greedy(const std::vector<Candidate>& candidates, const Oracle& oracle);

/// All groups in one trial; nothing where that does not hold.
[[nodiscard]] Found search_all_at_once(const std::vector<Candidate>& candidates, const Oracle& oracle);

/// Greedy in an order that the seed draws.
[[nodiscard]] Found search_random(const std::vector<Candidate>& candidates, const Oracle& oracle,
                                  std::uint64_t seed);

inline constexpr std::int64_t kMostExactTrials = std::int64_t{1} << 20;
/// What saves most of all sharings that hold: each is trained from the beginning, the one that saves most
/// first, until one holds. What the others are held against. Fails where there are more than
/// kMostExactTrials.
[[nodiscard]] Result<Found> search_exact(const std::vector<Candidate>& candidates, const Oracle& oracle);

/// Plimsoll's own. Keeps a linear guess of what each group costs the margin, with its uncertainty, and
/// corrects it after each trial; of what saves most of all that should hold, was not ruled out by a failure
/// (what fails, fails with more) and earns enough over what holds already it asks next for the heavier half:
/// what is shared step by step is learned again sooner. Of very many groups it looks at the kMostOwnGroups
/// that save most.
inline constexpr std::size_t kMostOwnGroups = 512;
struct OwnSearch {
  double worth =
      0.03;  ///< a trial is worth it that saves so much more, as a share of what can be saved at all
  /// Standard deviations of the guess that the margin must bear, at first and at last: below 0 a group is
  /// given the benefit of the doubt.
  double caution = 1, least_caution = -1.5;
  int most_failures = 6;
};
[[nodiscard]] Found search_own(const std::vector<Candidate>& candidates, const Oracle& oracle,
                               const OwnSearch& settings = {});

}  // namespace plimsoll::plan::merge
