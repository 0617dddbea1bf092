#include "plan/swap/policy.hpp"

namespace plimsoll::plan::swapping {

Worth lru_worth(const View& view, std::size_t model) {
  return {static_cast<double>(view.memory.last_run[model]), 0};
}

}  // namespace plimsoll::plan::swapping
