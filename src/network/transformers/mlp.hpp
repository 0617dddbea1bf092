#pragma once
#include <string>

#include "network/transformers/stack.hpp"

namespace plimsoll::network::transformers {

/// The layer's MLP or, where it has them, its experts.
[[nodiscard]] zoo::Tokens add_mlp(zoo::Blocks& b, const Stack& stack, const Layer& layer,
                                  const std::string& name, zoo::Tokens x);

}  // namespace plimsoll::network::transformers
