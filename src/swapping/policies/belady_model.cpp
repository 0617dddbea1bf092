#include "swapping/policy.hpp"

namespace plimsoll::swapping {

// L. A. Belady, A study of replacement algorithms for a virtual-storage computer, IBM Systems Journal 5(2),
// 1966: what is needed again last goes first.
Worth belady_model_worth(const View& view, std::size_t model) {
  return {-view.outlook.told[model], 0};
}

}  // namespace plimsoll::swapping
