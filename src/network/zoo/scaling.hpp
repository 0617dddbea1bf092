#pragma once
#include <cstdint>
#include <string>

#include "network/zoo/blocks.hpp"

namespace plimsoll::network::zoo {

/// torchvision's Conv2dNormActivation: NAME.0 the convolution, NAME.1 batch normalisation, NAME.2 activation.
Image conv_norm_activation(Blocks& b, const std::string& name, Image x, const Convolution& c, Activation activation,
                           double epsilon = 1e-5);

/// Channels rounded to a multiple of 8, never down by more than a tenth (MobileNet's and EfficientNet's rule).
[[nodiscard]] std::int64_t divisible_by_8(double channels);

}  // namespace plimsoll::network::zoo
