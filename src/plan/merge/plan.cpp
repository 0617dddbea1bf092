#include "plan/merge/plan.hpp"

#include <algorithm>
#include <array>

#include "base/random.hpp"

namespace plimsoll::plan::merge {
namespace {

void order_by_worth(const std::vector<Model>& models, std::vector<Group>& groups) {
  std::ranges::stable_sort(groups, std::ranges::greater{}, [&](const Group& group) {
    return static_cast<double>(group.saves().count()) / expected_effort(models, group);
  });
}

void shuffle(std::vector<Group>& groups, std::uint64_t seed) {
  Random random(seed);
  for (std::size_t i = groups.size(); i > 1; --i) std::swap(groups[i - 1], groups[random.below(i)]);
}

}  // namespace

std::string_view name(Method method) {
  static constexpr std::array<std::string_view, 7> kNames = {"none",   "stem",     "greedy", "all-at-once",
                                                             "random", "plimsoll", "exact"};
  return kNames[static_cast<std::size_t>(method)];
}

double expected_effort(const std::vector<Model>& models, const Group& group) {
  double first = 1, last = 0;
  for (const Place& place : group.members) {
    const double depth =
        static_cast<double>(place.layer) / static_cast<double>(models[place.model].layers.size());
    first = std::min(first, depth);
    last = std::max(last, depth);
  }
  return static_cast<double>(group.members.size() - 1) * (1 + (last - first));
}

Plan make_plan(const std::vector<Model>& models, const Scope& scope, Method method, std::uint64_t seed) {
  Plan out;
  out.groups = groups(models, scope);
  std::vector<Group> common = stem(models, scope);
  out.ceiling = totals(models, out.groups, scope);
  out.stem = totals(models, common, scope);
  if (method == Method::stem)
    out.chosen = std::move(common);
  else if (method != Method::none)
    out.chosen = out.groups;
  if (method == Method::random) shuffle(out.chosen, seed);
  if (method == Method::plimsoll) order_by_worth(models, out.chosen);
  out.saved = totals(models, out.chosen, scope);
  return out;
}

}  // namespace plimsoll::plan::merge
