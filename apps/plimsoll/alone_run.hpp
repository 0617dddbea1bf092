#pragma once
#include <string>

#include "base/error.hpp"
#include "share/workload.hpp"
#include "store/store.hpp"

namespace plimsoll {

struct RunAlone {
  share::Alone alone;
  double startup = 0;  ///< s, from its start to its first step
};
/// What a recorded run did while it had its GPU to itself: steps by the points of its loss, the rest by what
/// was sampled between the first and the last of them.
[[nodiscard]] Result<RunAlone> alone_of_run(store::Store& store, const std::string& id);

}  // namespace plimsoll
