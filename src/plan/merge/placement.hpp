#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "plan/merge/groups.hpp"

namespace plimsoll::plan::merge {

/// Where in the file of weights each tensor lies.
struct Placement {
  std::vector<std::vector<std::optional<std::int64_t>>> offsets =
      {};                                 ///< by model and tensor; none: in its model
  std::vector<TensorPlace> written = {};  ///< whose contents are in the file, in its order
  Bytes file = {};                        ///< with what aligns the tensors
};

/// Every movable tensor, those of a set once, with the contents of the first. Each begins at a multiple of 64
/// bytes, what is larger than a page at a page, so that it can be mapped.
[[nodiscard]] Placement place(const std::vector<Model>& models, const std::vector<TensorSet>& sets);

}  // namespace plimsoll::plan::merge
