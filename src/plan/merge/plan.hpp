#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "plan/merge/groups.hpp"

namespace plimsoll::plan::merge {

/// Which groups are shared, and in which order they are tried.
enum class Method : std::uint8_t {
  none,
  stem,    ///< the layers from the input on that all agree on, as Mainstream shares them
  greedy,  ///< heaviest first, as GEMEL published it
  all_at_once,
  random,
  plimsoll,  ///< what saves most for what it is thought to cost first
  exact,     ///< every sharing, the one that saves most first
};
[[nodiscard]] std::string_view name(Method method);

/// How hard it is held to be to share a group, before anything is known of it: every model but the first has
/// to come to terms with another's weights, the more so the further apart the layers stand in their networks.
/// A guess that orders trials and decides nothing.
[[nodiscard]] double expected_effort(const std::vector<Model>& models, const Group& group);

/// What models can have in common; whether they stay as good as they are, only training says.
struct Plan {
  std::vector<Group> groups;  ///< all there are, by what they save
  std::vector<Group> chosen;  ///< by the method, in its order
  Totals ceiling;             ///< were all groups shared
  Totals stem;                ///< were the common stem alone
  Totals saved;               ///< by what was chosen
};
/// `seed` is of the random order.
[[nodiscard]] Plan make_plan(const std::vector<Model>& models, const Scope& scope, Method method,
                             std::uint64_t seed);

}  // namespace plimsoll::plan::merge
