#pragma once
#include <string>
#include <vector>

#include "engine/executor.hpp"

namespace plimsoll::engine {

/// From now on the executor's passes keep, in training, only what stands between the named layers, and
/// compute what is inside them again for the backward pass. A layer is named by an operator's name or the
/// beginning of it; a segment goes from the first operator of one named layer to the first of the next, the
/// last one to the end. Fails on a name that no operator has.
[[nodiscard]] Status set_checkpoints(Executor& executor, const std::vector<std::string>& layers);

}  // namespace plimsoll::engine
