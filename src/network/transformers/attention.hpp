#pragma once
#include <string>

#include "network/transformers/stack.hpp"

namespace plimsoll::network::transformers {

/// Projections, positions, ONNX's Attention, and the product that brings its result back to the width.
[[nodiscard]] zoo::Tokens add_attention(zoo::Blocks& b, const Stack& stack, const Layer& layer,
                                        const std::string& name, zoo::Tokens x, const Surroundings& around);
/// The same, looking at `around.other`: weights are called as those of the layer's own attention.
[[nodiscard]] zoo::Tokens add_cross_attention(zoo::Blocks& b, const Stack& stack, const std::string& name,
                                              zoo::Tokens x, const Surroundings& around);

}  // namespace plimsoll::network::transformers
