#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "engine/routine.hpp"

namespace plimsoll::engine {

/// A layer on eight-bit numbers, by the library's own kernels: levels are tensors of its quantised types
/// between such layers. Which library computes is chosen for the whole process.
[[nodiscard]] FusedKernel quantized_kernel(const network::QuantizedLayer& layer, const Preparation& p);
/// "int8 convolution", …; empty for what only turns real numbers into levels or back.
[[nodiscard]] std::string_view name(network::QuantizedLayer::Kind kind);

/// Libraries of eight-bit kernels in this LibTorch, best first: "FBGEMM", "oneDNN", "QNNPACK", "XNNPACK".
[[nodiscard]] std::vector<std::string> quantized_libraries();
/// From now on that one computes; empty: the best. The name of it. Fails where it is not there.
[[nodiscard]] Result<std::string> choose_quantized_library(const std::string& name);

}  // namespace plimsoll::engine
