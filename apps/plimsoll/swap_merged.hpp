#pragma once
#include <span>
#include <vector>

#include "base/error.hpp"
#include "swap_models.hpp"

namespace plimsoll {

/// What models share that came out of one merge: an ONNX file that the manifest beside it names. `weighed` as
/// the models.
[[nodiscard]] Result<std::vector<swapping::SharedGroup>> shared_by_merges(
    std::span<const SwapModelRequest> models, std::span<const swapping::WeighedModel> weighed);

}  // namespace plimsoll
