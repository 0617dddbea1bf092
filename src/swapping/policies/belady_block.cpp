#include "swapping/policy.hpp"

namespace plimsoll::swapping {

// Belady's rule is the best there is where all that is moved is of one size, which models are not and blocks
// are: no other choice moves fewer of them for the same sequence of runs (docs/swapping.md).
Worth belady_block_worth(const View& view, std::size_t chunk) {
  return worth_by_next_use(view, view.outlook.told, chunk);
}

}  // namespace plimsoll::swapping
