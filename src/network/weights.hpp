#pragma once
#include "network/network.hpp"

namespace plimsoll::network {

/// Tells what was learned from what is merely stored, by how each weight is used, and sets the tensors'
/// roles: running statistics, integers, single numbers in arithmetic, Resize's scales and their like are
/// buffers; a Constant that is the weight or bias of a convolution or matrix product is a parameter.
void classify_weights(Network& network);

}  // namespace plimsoll::network
