#include "swapping/policy.hpp"

namespace plimsoll::swapping {

Worth lru_worth(const View& view, std::size_t model) {
  return {static_cast<double>(view.memory.last_run[model]), 0};
}

}  // namespace plimsoll::swapping
