#include "swapping/policy.hpp"

namespace plimsoll::swapping {

Worth expected_block_worth(const View& view, std::size_t chunk) {
  return worth_by_next_use(view, view.outlook.expected, chunk);
}

}  // namespace plimsoll::swapping
