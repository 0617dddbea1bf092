#pragma once
#include <vector>

#include "network/network.hpp"

namespace plimsoll::estimate {

/// For each operator of the main graph, whether it is one of the two products of causal attention: the
/// mask that its Softmax sees leads back to a triangle (Trilu), to a comparison of positions (Range) or to a
/// stored square of truth values, or the attention operator says so itself. Where causality cannot be read
/// from the graph, it is not assumed.
[[nodiscard]] std::vector<bool> find_causal_products(const network::Network& network);

}  // namespace plimsoll::estimate
