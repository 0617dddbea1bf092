#include "plan/mig/layouts.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include <fmt/ranges.h>

namespace plimsoll::plan {
namespace {

using hardware::MigPlacement;
using hardware::MigProfile;
using hardware::MigTable;

bool goes_with(const MigTable& table, Layout& layout, const MigPlacement& another) {
  layout.push_back(another);
  const bool valid = !hardware::mig_conflict(table, layout);
  layout.pop_back();
  return valid;
}

bool is_maximal(const MigTable& table, std::span<const std::size_t> profiles, Layout& layout) {
  for (const std::size_t profile : profiles)
    for (const int start : table.profiles[profile].starts)
      if (goes_with(table, layout, {profile, start})) return false;
  return true;
}

/// All layouts that go on from `layout`, whose instances end before `at`.
void extend(const MigTable& table, std::span<const std::size_t> profiles, int at, Layout& layout,
            std::vector<Layout>& out) {
  if (at >= table.memory_parts) {
    if (is_maximal(table, profiles, layout)) out.push_back(layout);
    return;
  }
  for (const std::size_t profile : profiles) {
    const MigProfile& kind = table.profiles[profile];
    if (std::ranges::find(kind.starts, at) == kind.starts.end()) continue;
    if (!goes_with(table, layout, {profile, at})) continue;
    layout.push_back({profile, at});
    extend(table, profiles, at + kind.memory, layout, out);
    layout.pop_back();
  }
  extend(table, profiles, at + 1, layout, out);
}

/// What of `wanted` is not among `kept`.
std::vector<std::size_t> missing_from(const MigTable& table, std::span<const MigPlacement> kept,
                                      std::span<const std::size_t> wanted) {
  ProfileCounts there = counts_of(table, kept);
  std::vector<std::size_t> out;
  for (const std::size_t profile : wanted)
    if (--there[profile] < 0) out.push_back(profile);
  std::ranges::sort(out);  // those alike stand together, as place() likes them
  return out;
}

struct SplitLayout {
  std::vector<MigPlacement> kept, removed;
  bool removes_in_use = false;
};

/// The instances whose bit is set stay.
SplitLayout split(std::span<const RunningInstance> running, unsigned stays) {
  SplitLayout out;
  for (std::size_t i = 0; i < running.size(); ++i) {
    const bool kept = (stays >> i & 1U) != 0;
    (kept ? out.kept : out.removed).push_back(running[i].placement);
    out.removes_in_use |= !kept && running[i].in_use;
  }
  return out;
}

std::optional<LayoutChange> change_with(const MigTable& table, SplitLayout parts,
                                        std::span<const std::size_t> wanted, bool exact) {
  const std::vector<std::size_t> missing = missing_from(table, parts.kept, wanted);
  if (exact && parts.kept.size() + missing.size() != wanted.size()) return std::nullopt;
  auto created = hardware::place(table, missing, parts.kept);
  if (!created) return std::nullopt;
  LayoutChange out{std::move(parts.kept), std::move(parts.removed), *std::move(created)};
  for (auto* list : {&out.kept, &out.removed, &out.created})
    std::ranges::sort(*list, {}, &MigPlacement::start);
  return out;
}

/// The best change, with what is in use where `any`.
std::optional<LayoutChange> best_change(const MigTable& table, std::span<const RunningInstance> running,
                                        std::span<const std::size_t> wanted, bool exact, bool any) {
  std::optional<LayoutChange> best;
  for (unsigned stays = 0; stays < 1U << running.size(); ++stays) {
    SplitLayout parts = split(running, stays);
    if (parts.removes_in_use && !any) continue;
    if (best && parts.removed.size() > best->removed.size()) continue;
    auto change = change_with(table, std::move(parts), wanted, exact);
    if (!change) continue;
    const auto rank = [](const LayoutChange& c) { return std::pair(c.removed.size(), c.created.size()); };
    if (!best || rank(*change) < rank(*best)) best = std::move(change);
  }
  return best;
}

}  // namespace

std::vector<std::size_t> ordinary_profiles(const MigTable& table, bool double_memory) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < table.profiles.size(); ++i)
    if (!table.profiles[i].media && (double_memory || !table.profiles[i].double_memory)) out.push_back(i);
  return out;
}

std::vector<Layout> maximal_layouts(const MigTable& table, std::span<const std::size_t> profiles) {
  std::vector<Layout> out;
  Layout layout;
  extend(table, profiles, 0, layout, out);
  return out;
}

ProfileCounts counts_of(const MigTable& table, std::span<const MigPlacement> layout) {
  ProfileCounts out(table.profiles.size());
  for (const MigPlacement& placement : layout) ++out[placement.profile];
  return out;
}

std::vector<ProfileCounts> multisets_of(const MigTable& table, std::span<const Layout> layouts) {
  const auto larger = [](const ProfileCounts& a, const ProfileCounts& b) {
    return std::lexicographical_compare(b.rbegin(), b.rend(), a.rbegin(), a.rend());
  };
  std::set<ProfileCounts, decltype(larger)> all(larger);
  for (const Layout& layout : layouts) all.insert(counts_of(table, layout));
  return {all.begin(), all.end()};
}

Layout LayoutChange::after() const {
  Layout out = kept;
  out.insert(out.end(), created.begin(), created.end());
  std::ranges::sort(out, {}, &MigPlacement::start);
  return out;
}

Result<LayoutChange> fewest_torn_down(const MigTable& table, std::span<const RunningInstance> running,
                                      std::span<const std::size_t> wanted, const ChangeRules& rules) {
  Layout now;
  for (const RunningInstance& instance : running) now.push_back(instance.placement);
  if (const auto conflict = hardware::mig_conflict(table, now))
    return fail("what runs cannot be a layout: {}", *conflict);
  if (auto best = best_change(table, running, wanted, rules.exact, rules.may_remove_in_use)) return *best;
  if (!hardware::place(table, missing_from(table, {}, wanted)))
    return std::unexpected(Error{
        "the wanted profiles cannot be placed together",
        {},
        fmt::format(
            "a GPU has {} parts of compute and {} of memory, and a profile starts where NVIDIA's table says",
            table.compute_parts, table.memory_parts)});
  Error error{"instances in use stand in the way"};
  if (const auto any = best_change(table, running, wanted, rules.exact, true)) {
    std::vector<std::string> names;
    for (const MigPlacement& placement : any->removed) names.push_back(hardware::text(table, placement));
    error.hint = fmt::format("with {} torn down it could be done", fmt::join(names, ", "));
  }
  return std::unexpected(std::move(error));
}

}  // namespace plimsoll::plan
