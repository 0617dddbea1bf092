#pragma once
#include <cstdint>
#include <vector>

#include "engine/routine.hpp"
#include "engine/weights.hpp"

namespace plimsoll::engine {

/// Folds each BatchNormalization (of inference) into the convolution directly before it, where nothing else
/// reads the convolution's result: changes the weights, and drops the instruction. The number of those
/// folded.
[[nodiscard]] std::int64_t fold_normalizations(Routine& routine, std::vector<HostWeight>& weights);

}  // namespace plimsoll::engine
