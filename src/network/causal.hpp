#pragma once
#include <functional>
#include <vector>

#include "network/inference.hpp"

namespace plimsoll::network {

/// For each operator of the main graph, whether it is one of the two products of causal attention: the
/// mask that its Softmax sees leads back to a triangle (Trilu), to a comparison of positions (Range) or to a
/// stored square of truth values, or the attention operator says so itself. Where causality cannot be read
/// from the graph, it is not assumed.
[[nodiscard]] std::vector<bool> find_causal_products(const Network& network);

/// An attention's key or value before its heads were repeated for grouped queries (Unsqueeze, Expand,
/// Reshape); itself where they were not. `maker` gives the operator that makes a tensor, or nullptr.
[[nodiscard]] TensorId before_repetition(const Network& network, const Shapes& shapes, TensorId id,
                                         const std::function<const Operator*(TensorId)>& maker);

}  // namespace plimsoll::network
