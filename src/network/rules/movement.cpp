#include "network/inference.hpp"
#include "network/operators.hpp"

namespace plimsoll::network {

std::span<const OperatorInfo> movement_operators() { return {}; }

}  // namespace plimsoll::network
