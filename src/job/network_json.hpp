#pragma once
#include "job/fields.hpp"
#include "network/network.hpp"

namespace plimsoll::job {

/// A Network as JSON, and back: equal, and with the same numbers for tensors and graphs. Tensors are named by
/// number and told apart by nothing else, as in the Network itself.
[[nodiscard]] Json network_json(const network::Network& network);
[[nodiscard]] network::Network read_network(const Fields& fields);

}  // namespace plimsoll::job
