#pragma once
#include <cstdint>

#include "network/inference.hpp"

namespace plimsoll::network {

/// The batch that shapes were inferred for: what the dimension of that name stands for, else the first extent
/// of the first input that can have a batch. 1 where none can: three extents that begin with channels are one
/// image, and a single extent is no batch of anything.
[[nodiscard]] std::int64_t batch_of(const Network& network, const Shapes& shapes);

/// The length that shapes were inferred for: what the dimension of that name stands for. Nothing where the
/// network has none.
[[nodiscard]] const BoundSymbol* sequence_of(const Shapes& shapes);

}  // namespace plimsoll::network
