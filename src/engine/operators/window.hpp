#pragma once
#include <cstdint>

#include "engine/operators/forms.hpp"

namespace plimsoll::engine {

/// Where a window moves over an image: the attributes that convolutions and pooling share.
struct Window {
  enum class Automatic : std::uint8_t { none, same_upper, same_lower, valid };
  Integers kernel;  ///< empty where the weights tell
  Integers strides, dilations;
  Integers pads;  ///< all beginnings, then all ends; empty: none
  Automatic automatic = Automatic::none;
  bool ceil = false;
};

[[nodiscard]] Window window_of(const Preparation& p);

/// What to add at each end, for images of these extents (without batch and channels), and in full: strides
/// and dilations are given for each of them.
struct Padding {
  Integers begin, end;
  [[nodiscard]] bool symmetric() const { return begin == end; }
};
[[nodiscard]] Padding padding_of(const Window& window, at::IntArrayRef extents, at::IntArrayRef kernel);
[[nodiscard]] Integers strides_of(const Window& window, std::size_t rank);
[[nodiscard]] Integers dilations_of(const Window& window, std::size_t rank);

/// The image with its padding written out.
[[nodiscard]] at::Tensor padded(const at::Tensor& image, const Padding& padding, const at::Scalar& value);

/// The convolution as ATen runs it, padding written out only where its two ends differ.
[[nodiscard]] at::Tensor convolved(const Window& window, std::int64_t groups, const at::Tensor& image,
                                   const at::Tensor& weight, const at::Tensor& bias);

}  // namespace plimsoll::engine
