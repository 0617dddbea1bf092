#pragma once
#include <span>
#include <string_view>

#include "engine/calibration/ingredients.hpp"

namespace plimsoll::engine {

using Extents = std::span<const std::int64_t>;
using Build = OperatorCall (*)(const Ingredients&, Extents);

/// How one class of operators is called. The names, and what the extents mean, are those of
/// hardware/calibration.hpp; null where a class has no such direction.
struct CallRow {
  std::string_view name;
  std::size_t extents = 0;
  std::size_t positive = 0;  ///< so many of the first are 1 or more; the others, choices, may be 0
  Build forward = nullptr, backward_input = nullptr, backward_weight = nullptr;
};

/// The same on tensors with the channels fastest in memory.
template <Build build>
OperatorCall channels_last(const Ingredients& make, Extents e) {
  return build(make.channels_last(), e);
}

[[nodiscard]] std::span<const CallRow> product_calls();
[[nodiscard]] std::span<const CallRow> streaming_calls();

}  // namespace plimsoll::engine
