#include <algorithm>
#include <array>

#include <ATen/ops/conv_transpose1d.h>
#include <ATen/ops/conv_transpose2d.h>
#include <ATen/ops/conv_transpose3d.h>

#include "engine/operators/window.hpp"

namespace plimsoll::engine {
namespace {

using at::Tensor;

Result<Kernel> prepare_conv(const Preparation& p) {
  return [window = window_of(p), groups = p.integer("group", 1)](Call& c) {
    c.out(0, convolved(window, groups, c.in(0), c.in(1), optional_input(c, 2)));
  };
}

Tensor transposed_convolution(const Tensor& x, const Tensor& weight, const Tensor& bias,
                              at::IntArrayRef strides, at::IntArrayRef pads, at::IntArrayRef output_padding,
                              std::int64_t groups, at::IntArrayRef dilations) {
  switch (x.dim()) {
    case 3: return at::conv_transpose1d(x, weight, bias, strides, pads, output_padding, groups, dilations);
    case 4: return at::conv_transpose2d(x, weight, bias, strides, pads, output_padding, groups, dilations);
    default: return at::conv_transpose3d(x, weight, bias, strides, pads, output_padding, groups, dilations);
  }
}

struct Transposed {
  Window window;
  Integers output_padding, output_shape;
  std::int64_t groups = 1;

  /// What is cut off at each end. An output that is asked for beyond the last contribution cuts a negative
  /// number: it is widened.
  [[nodiscard]] Padding cut(at::IntArrayRef extents, at::IntArrayRef kernel, at::IntArrayRef extra) const {
    const std::size_t rank = kernel.size();
    const bool same = window.automatic == Window::Automatic::same_upper ||
                      window.automatic == Window::Automatic::same_lower;
    if (output_shape.empty() && !same) return padding_of(window, extents, kernel);
    const Integers strides = strides_of(window, rank), dilations = dilations_of(window, rank);
    TORCH_CHECK(extents.size() == rank && extra.size() == rank, "an image of other extents than the window");
    TORCH_CHECK(output_shape.empty() || output_shape.size() >= rank, "output_shape has too few extents");
    Padding padding{Integers(rank, 0), Integers(rank, 0)};
    for (std::size_t i = 0; i < rank; ++i) {
      const std::int64_t full = strides[i] * (extents[i] - 1) + extra[i] + (kernel[i] - 1) * dilations[i] + 1;
      const std::int64_t wanted =
          output_shape.empty() ? extents[i] * strides[i] : output_shape[output_shape.size() - rank + i];
      const std::int64_t total = full - wanted;
      const bool upper = window.automatic == Window::Automatic::same_upper || total < 0;
      padding.begin[i] = total < 0 ? 0 : upper ? total / 2 : total - total / 2;
      padding.end[i] = total - padding.begin[i];
    }
    return padding;
  }
};

Result<Kernel> prepare_conv_transpose(const Preparation& p) {
  const Transposed t{window_of(p), p.integers("output_padding"), p.integers("output_shape"),
                     p.integer("group", 1)};
  return [t](Call& c) {
    const Tensor& x = c.in(0);
    const Tensor& weight = c.in(1);
    const at::IntArrayRef kernel = weight.sizes().slice(2);
    const std::size_t rank = kernel.size();
    const Integers extra = t.output_padding.empty() ? Integers(rank, 0) : t.output_padding;
    const Padding cut = t.cut(x.sizes().slice(2), kernel, extra);
    const Integers strides = strides_of(t.window, rank), dilations = dilations_of(t.window, rank);
    const auto run = [&](at::IntArrayRef pads) {
      return transposed_convolution(x, weight, optional_input(c, 2), strides, pads, extra, t.groups,
                                    dilations);
    };
    if (cut.symmetric()) return c.out(0, run(cut.begin));
    Padding added = cut;
    for (Integers* ends : {&added.begin, &added.end})
      std::ranges::transform(*ends, ends->begin(), std::negate<>());
    c.out(0, padded(run(Integers(rank, 0)), added, 0));
  };
}

constexpr auto kConvolutionRows = std::to_array<OperatorRow>({
    {"Conv", prepare_conv},
    {"ConvTranspose", prepare_conv_transpose},
});

}  // namespace

std::span<const OperatorRow> convolution_rows() {
  return kConvolutionRows;
}

}  // namespace plimsoll::engine
