#include "plan/merge/search.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "base/random.hpp"

namespace plimsoll::plan::merge {
namespace {

/// What was found so far; each trial is counted.
class Trials {
 public:
  Trials(const std::vector<Candidate>& candidates, const Oracle& oracle)
      : candidates_(candidates), oracle_(oracle) {
    found_.sharing.assign(candidates.size(), 0);
  }
  bool attempt(const Sharing& wanted) {
    const Trial trial = oracle_(found_.sharing, wanted);
    ++found_.trials;
    found_.epochs += trial.epochs;
    if (trial.holds) {
      found_.sharing = wanted;
      found_.saved = saved_by(candidates_, wanted);
    }
    return trial.holds;
  }
  [[nodiscard]] const Found& found() const { return found_; }

 private:
  const std::vector<Candidate>& candidates_;
  const Oracle& oracle_;
  Found found_;
};

Found search_in_order(const std::vector<Candidate>& candidates, const Oracle& oracle,
                      const std::vector<std::size_t>& order) {
  Trials trials(candidates, oracle);
  for (const std::size_t i : order)
    for (int members = candidates[i].members; members >= 2; members /= 2) {
      Sharing wanted = trials.found().sharing;
      wanted[i] = members;
      if (trials.attempt(wanted)) break;
    }
  return trials.found();
}

std::vector<std::size_t> numbers(std::size_t count) {
  std::vector<std::size_t> out(count);
  std::iota(out.begin(), out.end(), std::size_t{0});
  return out;
}

Sharing everything(const std::vector<Candidate>& candidates) {
  Sharing out;
  for (const Candidate& candidate : candidates) out.push_back(candidate.members);
  return out;
}

/// The next sharing as in counting: 0, 2, 3 … members, and on to the next candidate. False after the last.
bool advance(const std::vector<Candidate>& candidates, Sharing& sharing) {
  for (std::size_t i = 0; i < sharing.size(); ++i) {
    if (sharing[i] < candidates[i].members) {
      sharing[i] = std::max(2, sharing[i] + 1);
      return true;
    }
    sharing[i] = 0;
  }
  return false;
}

}  // namespace

Bytes saved_by(const std::vector<Candidate>& candidates, const Sharing& sharing) {
  Bytes out;
  for (std::size_t i = 0; i < candidates.size(); ++i)
    if (sharing[i] > 1) out += candidates[i].bytes * (sharing[i] - 1);
  return out;
}

Found search_greedy(const std::vector<Candidate>& candidates, const Oracle& oracle) {
  std::vector<std::size_t> order = numbers(candidates.size());
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&](std::size_t i) { return candidates[i].bytes * (candidates[i].members - 1); });
  return search_in_order(candidates, oracle, order);
}

Found search_all_at_once(const std::vector<Candidate>& candidates, const Oracle& oracle) {
  Trials trials(candidates, oracle);
  if (!candidates.empty()) trials.attempt(everything(candidates));
  return trials.found();
}

Found search_random(const std::vector<Candidate>& candidates, const Oracle& oracle, std::uint64_t seed) {
  std::vector<std::size_t> order = numbers(candidates.size());
  Random random(seed);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return search_in_order(candidates, oracle, order);
}

Result<Found> search_exact(const std::vector<Candidate>& candidates, const Oracle& oracle) {
  std::int64_t all = 1;
  for (const Candidate& candidate : candidates)
    if (__builtin_mul_overflow(all, std::max(candidate.members, 1), &all) || all > kMostExactTrials)
      return fail("there are more than {} ways to share {} groups", kMostExactTrials, candidates.size());
  const Sharing none(candidates.size(), 0);
  std::vector<std::pair<Bytes, Sharing>> ways;
  for (Sharing wanted = none; advance(candidates, wanted);)
    ways.emplace_back(saved_by(candidates, wanted), wanted);
  std::ranges::stable_sort(ways, std::ranges::greater{}, &std::pair<Bytes, Sharing>::first);
  Found out{.sharing = none};
  for (auto& [saved, wanted] : ways) {
    const Trial trial = oracle(none, wanted);
    ++out.trials;
    out.epochs += trial.epochs;
    if (!trial.holds) continue;
    out.sharing = std::move(wanted);
    out.saved = saved;
    break;
  }
  return out;
}

}  // namespace plimsoll::plan::merge
