#include "engine/operators/window.hpp"

#include <algorithm>

#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/conv1d.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/conv3d.h>
#include <ATen/ops/convolution.h>

namespace plimsoll::engine {

Window window_of(const Preparation& p) {
  Window w;
  w.kernel = p.integers("kernel_shape");
  w.strides = p.integers("strides");
  w.dilations = p.integers("dilations");
  w.pads = p.integers("pads");
  w.ceil = p.integer("ceil_mode", 0) != 0;
  const std::string_view automatic = p.text("auto_pad", "NOTSET");
  w.automatic = automatic == "SAME_UPPER"   ? Window::Automatic::same_upper
                : automatic == "SAME_LOWER" ? Window::Automatic::same_lower
                : automatic == "VALID"      ? Window::Automatic::valid
                                            : Window::Automatic::none;
  return w;
}

namespace {

Integers one_each(const Integers& given, std::size_t rank) {
  if (given.empty()) return Integers(rank, 1);
  TORCH_CHECK(given.size() == rank && std::ranges::all_of(given, [](std::int64_t n) { return n > 0; }),
              "a positive stride and dilation for each extent of the window");
  return given;
}

}  // namespace

Integers strides_of(const Window& window, std::size_t rank) {
  return one_each(window.strides, rank);
}

Integers dilations_of(const Window& window, std::size_t rank) {
  return one_each(window.dilations, rank);
}

Padding padding_of(const Window& window, at::IntArrayRef extents, at::IntArrayRef kernel) {
  const std::size_t rank = kernel.size();
  TORCH_CHECK(extents.size() == rank, "a window of ", rank, " extents over ", extents.size());
  Padding padding{Integers(rank, 0), Integers(rank, 0)};
  if (window.automatic == Window::Automatic::valid) return padding;
  if (window.automatic == Window::Automatic::none) {
    if (window.pads.size() != 2 * rank) return padding;
    std::ranges::copy_n(window.pads.begin(), static_cast<std::ptrdiff_t>(rank), padding.begin.begin());
    std::ranges::copy_n(window.pads.begin() + static_cast<std::ptrdiff_t>(rank),
                        static_cast<std::ptrdiff_t>(rank), padding.end.begin());
    return padding;
  }
  const Integers strides = strides_of(window, rank), dilations = dilations_of(window, rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t outputs = (extents[i] + strides[i] - 1) / strides[i];
    const std::int64_t reach = (outputs - 1) * strides[i] + (kernel[i] - 1) * dilations[i] + 1;
    const std::int64_t total = std::max<std::int64_t>(0, reach - extents[i]);
    const std::int64_t less = total / 2;
    padding.begin[i] = window.automatic == Window::Automatic::same_upper ? less : total - less;
    padding.end[i] = total - padding.begin[i];
  }
  return padding;
}

at::Tensor padded(const at::Tensor& image, const Padding& padding, const at::Scalar& value) {
  Integers pads;  // ATen's order: the last extent first
  for (std::size_t i = padding.begin.size(); i-- > 0;) {
    pads.push_back(padding.begin[i]);
    pads.push_back(padding.end[i]);
  }
  return at::constant_pad_nd(image, pads, value);
}

at::Tensor convolved(const Window& window, std::int64_t groups, const at::Tensor& image,
                     const at::Tensor& weight, const at::Tensor& bias) {
  const at::IntArrayRef kernel = weight.sizes().slice(2);
  const std::size_t rank = kernel.size();
  Padding padding = padding_of(window, image.sizes().slice(2), kernel);
  at::Tensor x = image;
  if (!padding.symmetric()) {
    x = padded(x, padding, 0);
    padding.begin.assign(rank, 0);
  }
  const Integers strides = strides_of(window, rank), dilations = dilations_of(window, rank);
  const at::IntArrayRef pads = padding.begin;
  switch (rank) {
    case 1: return at::conv1d(x, weight, bias, strides, pads, dilations, groups);
    case 2: return at::conv2d(x, weight, bias, strides, pads, dilations, groups);
    case 3: return at::conv3d(x, weight, bias, strides, pads, dilations, groups);
    default:
      return at::convolution(x, weight, bias, strides, pads, dilations, false, Integers(rank, 0), groups);
  }
}

}  // namespace plimsoll::engine
