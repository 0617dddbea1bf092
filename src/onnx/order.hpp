#pragma once
#include <vector>

#include "base/error.hpp"
#include "network/network.hpp"

namespace plimsoll::onnx {

/// Puts the operators of one graph in an order in which they can run, moving each only as far forward as it
/// must. What a body of If, Loop or Scan takes from outside counts as an input of its operator. Fails on a
/// cycle, naming an operator on it.
[[nodiscard]] Status sort_operators(const network::Network& network,
                                    std::vector<network::Operator>& operators);

}  // namespace plimsoll::onnx
