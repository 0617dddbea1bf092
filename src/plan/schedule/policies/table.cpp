#include <algorithm>
#include <array>

#include "plan/schedule/policies/policies.hpp"

namespace plimsoll::plan::schedule {
namespace {

constexpr std::array kPolicyRows = {
    PolicyRow{"exclusive", "one after the other, first in first out", share::Way::exclusive, false,
              exclusive_policy},
    PolicyRow{"naive", "all at once where memory is left, in turns", share::Way::naive, false, naive_policy},
    PolicyRow{"carma", "CARMA's gate: memory, SM activity over 5 s", share::Way::mps, false, gate_policy},
    PolicyRow{"best-fit", "where least is left", share::Way::mps, false, best_fit_policy},
    PolicyRow{"packing", "where most run already", share::Way::mps, false, packing_policy},
    PolicyRow{"dot-product", "where what is wanted is like what is left", share::Way::mps, false,
              dot_product_policy},
    PolicyRow{"fragmentation", "where least becomes useless", share::Way::mps, false, fragmentation_policy},
    PolicyRow{"plimsoll", "where most is done together, as predicted", share::Way::mps, false,
              plimsoll_policy},
    PolicyRow{"queue", "the same, as `plimsoll queue` does: who adds anything", share::Way::mps, false,
              queue_policy},
    PolicyRow{"clairvoyant", "as plimsoll, knowing what is true", share::Way::mps, true, plimsoll_policy},
};

}  // namespace

std::span<const PolicyRow> policy_rows() {
  return kPolicyRows;
}

const PolicyRow* policy_named(std::string_view name) {
  const auto found = std::ranges::find(kPolicyRows, name, &PolicyRow::name);
  return found == kPolicyRows.end() ? nullptr : &*found;
}

}  // namespace plimsoll::plan::schedule
