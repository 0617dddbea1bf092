#pragma once
#include <cstdint>

namespace plimsoll::network {

/// What a network is run for. A training graph in inference mode: BatchNorm uses its running statistics,
/// Dropout and stochastic depth vanish.
enum class Mode : std::uint8_t { infer, train };

}  // namespace plimsoll::network
