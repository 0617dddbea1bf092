#pragma once
#include <cstdint>

namespace plimsoll::engine {

/// How a recognised attention uses its mask. Exporters write "causal" as a mask, and "no mask" as one that
/// allows everything; the framework's kernels are faster without.
enum class MaskUse : std::uint8_t { as_given, causal, none };

}  // namespace plimsoll::engine
