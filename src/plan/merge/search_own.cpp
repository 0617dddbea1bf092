#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "plan/merge/search.hpp"

namespace plimsoll::plan::merge {
namespace {

// Of the guess before the first trial: all groups together are thought to cost half of what may be lost, give
// or take as much; each alone is no better known than that.
constexpr double kAllTogether = 0.5, kDoubtOfAll = 1, kDoubtOfEach = 1;
constexpr double kNoise = 0.05;  // deviation of a trial's margin, which a training's chance moves
constexpr double kBite = 0.5;
constexpr double kBolder = 0.25;  // deviations less of caution where nothing is worth a trial any more
constexpr std::int64_t kMostSteps = 200'000;  // of one choice; what is best until then is taken

double copies(int sharing) {
  return sharing > 1 ? sharing - 1 : 0;
}

/// What each copy that a group saves costs of the margin: a normal guess, corrected as Kalman (1960) does.
class Guess {
 public:
  explicit Guess(const std::vector<Candidate>& candidates)
      : mean_(candidates.size()), size_(candidates.size()) {
    double all = 0;
    for (const Candidate& each : candidates) all += each.effort * copies(each.members);
    for (std::size_t i = 0; i < size_; ++i) mean_[i] = kAllTogether * candidates[i].effort / all;
    covariance_.resize(size_ * size_);
    for (std::size_t i = 0; i < size_; ++i)
      for (std::size_t j = 0; j < size_; ++j)
        at(i, j) =
            mean_[i] * mean_[j] * (kDoubtOfAll * kDoubtOfAll + (i == j ? kDoubtOfEach * kDoubtOfEach : 0));
  }

  void learn(const Sharing& sharing, double margin) {
    std::vector<double> spread(size_);
    double expected = 0, variance = kNoise * kNoise;
    for (std::size_t i = 0; i < size_; ++i) {
      for (std::size_t j = 0; j < size_; ++j) spread[i] += at(i, j) * copies(sharing[j]);
      expected += mean_[i] * copies(sharing[i]);
      variance += spread[i] * copies(sharing[i]);
    }
    const double surprise = (1 - margin) - expected;
    for (std::size_t i = 0; i < size_; ++i) {
      mean_[i] += spread[i] * surprise / variance;
      for (std::size_t j = 0; j < size_; ++j) at(i, j) -= spread[i] * spread[j] / variance;
    }
  }

  [[nodiscard]] double cost(std::size_t i, double caution) const {
    const double variance = covariance_[i * size_ + i];
    return std::max(0.0, mean_[i] + caution * std::sqrt(std::max(0.0, variance)));
  }

 private:
  double& at(std::size_t i, std::size_t j) { return covariance_[i * size_ + j]; }
  std::vector<double> mean_, covariance_;
  std::size_t size_;
};

/// What saves most of all that should fit into the margin, with what holds: a knapsack, by branch and bound.
class Choice {
 public:
  Choice(const std::vector<Candidate>& candidates, std::vector<double> costs, const Sharing& held,
         const std::vector<Sharing>& failures)
      : candidates_(candidates),
        costs_(std::move(costs)),
        held_(held),
        failures_(failures),
        order_(candidates.size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::ranges::stable_sort(order_, std::ranges::greater{}, [&](std::size_t i) { return density(i); });
  }

  Sharing best() {
    best_ = held_;
    current_.assign(candidates_.size(), 0);
    descend(0, 0, 1);
    return best_;
  }

 private:
  [[nodiscard]] double bytes(std::size_t i) const {
    return static_cast<double>(candidates_[i].bytes.count());
  }
  [[nodiscard]] double density(std::size_t i) const { return bytes(i) / std::max(costs_[i], 1e-9); }
  [[nodiscard]] bool ruled_out() const {
    return std::ranges::any_of(failures_, [&](const Sharing& failure) {
      for (std::size_t i = 0; i < failure.size(); ++i)
        if (current_[i] < failure[i]) return false;
      return true;
    });
  }
  /// What the rest could save at most, were copies divisible.
  [[nodiscard]] double bound(std::size_t depth, double room) const {
    double out = 0;
    for (; depth < order_.size(); ++depth) {
      const std::size_t i = order_[depth];
      const double all = copies(candidates_[i].members), cost = costs_[i] * all;
      if (cost > room) return out + bytes(i) * room / costs_[i];
      out += bytes(i) * all;
      room -= cost;
    }
    return out;
  }

  void descend(std::size_t depth, double saved, double room) {
    if (saved > best_saved_) {
      best_saved_ = saved;
      best_ = current_;
    }
    if (depth == order_.size() || ++steps_ > kMostSteps || saved + bound(depth, room) <= best_saved_) return;
    const std::size_t i = order_[depth];
    const int least = std::max(held_[i], 2);
    for (int sharing = candidates_[i].members; sharing >= least; --sharing) {
      const double cost = costs_[i] * copies(sharing);
      if (cost > room && sharing > held_[i]) continue;
      current_[i] = sharing;
      if (!ruled_out()) descend(depth + 1, saved + bytes(i) * copies(sharing), room - cost);
    }
    current_[i] = 0;
    if (held_[i] < 2) descend(depth + 1, saved, room);
  }

  const std::vector<Candidate>& candidates_;
  std::vector<double> costs_;
  const Sharing& held_;
  const std::vector<Sharing>& failures_;
  std::vector<std::size_t> order_;
  Sharing current_, best_;
  double best_saved_ = 0;
  std::int64_t steps_ = 0;
};

/// Of what is wanted over what holds, those that save most, as few as come to kBite of it: what begins as the
/// mean of many copies at once has forgotten too much, and is learned again sooner step by step.
Sharing bite_of(const std::vector<Candidate>& candidates, const Sharing& held, const Sharing& wanted) {
  std::vector<std::size_t> more(candidates.size());
  std::iota(more.begin(), more.end(), std::size_t{0});
  std::erase_if(more, [&](std::size_t i) { return wanted[i] <= held[i]; });
  const auto saves = [&](std::size_t i) {
    return static_cast<double>(candidates[i].bytes.count()) * (copies(wanted[i]) - copies(held[i]));
  };
  std::ranges::stable_sort(more, std::ranges::greater{}, saves);
  double all = 0, taken = 0;
  for (const std::size_t i : more) all += saves(i);
  Sharing out = held;
  for (const std::size_t i : more) {
    if (taken >= kBite * all) break;
    out[i] = wanted[i];
    taken += saves(i);
  }
  return out;
}

/// The candidates that save most, by number; the others never share.
std::vector<std::size_t> looked_at(const std::vector<Candidate>& all) {
  std::vector<std::size_t> out(all.size());
  std::iota(out.begin(), out.end(), std::size_t{0});
  std::erase_if(out, [&](std::size_t i) { return all[i].members < 2; });
  if (out.size() <= kMostOwnGroups) return out;
  std::ranges::stable_sort(out, std::ranges::greater{},
                           [&](std::size_t i) { return all[i].bytes * (all[i].members - 1); });
  out.resize(kMostOwnGroups);
  return out;
}

Sharing spread_out(const Sharing& few, const std::vector<std::size_t>& numbers, std::size_t all) {
  Sharing out(all, 0);
  for (std::size_t i = 0; i < few.size(); ++i) out[numbers[i]] = few[i];
  return out;
}

Found search_few(const std::vector<Candidate>& candidates, const Oracle& oracle, const OwnSearch& settings) {
  Guess guess(candidates);
  Found found{.sharing = Sharing(candidates.size(), 0)};
  std::vector<Sharing> failures;
  Bytes all;
  for (const Candidate& each : candidates) all += each.bytes * (each.members - 1);
  double caution = settings.caution;
  while (std::ssize(failures) < settings.most_failures && caution >= settings.least_caution) {
    std::vector<double> costs;
    for (std::size_t i = 0; i < candidates.size(); ++i) costs.push_back(guess.cost(i, caution));
    const Sharing most = Choice(candidates, std::move(costs), found.sharing, failures).best();
    if ((saved_by(candidates, most) - found.saved) / all < settings.worth) {
      caution -= kBolder;
      continue;
    }
    const Sharing wanted = bite_of(candidates, found.sharing, most);
    const Bytes saved = saved_by(candidates, wanted);
    const Trial trial = oracle(found.sharing, wanted);
    ++found.trials;
    found.epochs += trial.epochs;
    guess.learn(wanted, trial.margin);
    if (trial.holds) {
      found.sharing = wanted;
      found.saved = saved;
    } else {
      failures.push_back(wanted);
    }
  }
  return found;
}

}  // namespace

Found search_own(const std::vector<Candidate>& candidates, const Oracle& oracle, const OwnSearch& settings) {
  const std::vector<std::size_t> numbers = looked_at(candidates);
  if (numbers.empty()) return {.sharing = Sharing(candidates.size(), 0)};
  std::vector<Candidate> few;
  for (const std::size_t i : numbers) few.push_back(candidates[i]);
  const auto wide = [&](const Sharing& sharing) { return spread_out(sharing, numbers, candidates.size()); };
  Found found = search_few(
      few, [&](const Sharing& held, const Sharing& wanted) { return oracle(wide(held), wide(wanted)); },
      settings);
  found.sharing = wide(found.sharing);
  return found;
}

}  // namespace plimsoll::plan::merge
