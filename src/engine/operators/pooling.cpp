#include <algorithm>
#include <array>
#include <limits>

#include <ATen/ops/adaptive_avg_pool1d.h>
#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/adaptive_avg_pool3d.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/avg_pool1d.h>
#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/avg_pool3d.h>
#include <ATen/ops/max_pool1d.h>
#include <ATen/ops/max_pool1d_with_indices.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/max_pool2d_with_indices.h>
#include <ATen/ops/max_pool3d.h>
#include <ATen/ops/max_pool3d_with_indices.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include "engine/operators/window.hpp"

namespace plimsoll::engine {
namespace {

using at::Tensor;

/// ATen pads both ends alike, and with at most half a window.
bool within_aten(const Padding& padding, const Integers& kernel) {
  if (!padding.symmetric()) return false;
  for (std::size_t i = 0; i < kernel.size(); ++i)
    if (2 * padding.begin[i] > kernel[i]) return false;
  return true;
}

/// The window and the image it moves over, padding written out where ATen cannot do it.
struct Placed {
  Tensor image;
  Integers strides, pads, dilations;
  bool written_out = false;
};

Placed place(const Window& window, const Tensor& x, const at::Scalar& value) {
  const std::size_t rank = window.kernel.size();
  const Padding padding = padding_of(window, x.sizes().slice(2), window.kernel);
  Placed placed{x, strides_of(window, rank), padding.begin, dilations_of(window, rank)};
  if (within_aten(padding, window.kernel)) return placed;
  placed.image = padded(x, padding, value);
  placed.pads.assign(rank, 0);
  placed.written_out = true;
  return placed;
}

Tensor max_pool(const Window& w, const Placed& at) {
  switch (w.kernel.size()) {
    case 1: return at::max_pool1d(at.image, w.kernel, at.strides, at.pads, at.dilations, w.ceil);
    case 2: return at::max_pool2d(at.image, w.kernel, at.strides, at.pads, at.dilations, w.ceil);
    default: return at::max_pool3d(at.image, w.kernel, at.strides, at.pads, at.dilations, w.ceil);
  }
}

std::tuple<Tensor, Tensor> max_pool_with_indices(const Window& w, const Placed& at) {
  switch (w.kernel.size()) {
    case 1: return at::max_pool1d_with_indices(at.image, w.kernel, at.strides, at.pads, at.dilations, w.ceil);
    case 2: return at::max_pool2d_with_indices(at.image, w.kernel, at.strides, at.pads, at.dilations, w.ceil);
    default:
      return at::max_pool3d_with_indices(at.image, w.kernel, at.strides, at.pads, at.dilations, w.ceil);
  }
}

/// ATen counts within one channel's plane, ONNX through the whole tensor, rows first or columns first.
Tensor onnx_indices(const Tensor& indices, const Tensor& x, bool columns_first) {
  const std::int64_t planes_in_all = x.size(0) * x.size(1);
  const std::int64_t plane = planes_in_all == 0 ? 0 : x.numel() / planes_in_all;
  Tensor within = indices;
  if (columns_first && x.dim() == 4)
    within = indices.remainder(x.size(3)).mul(x.size(2)).add(indices.div(x.size(3), "floor"));
  Integers shape(static_cast<std::size_t>(x.dim()), 1);
  shape[0] = x.size(0);
  shape[1] = x.size(1);
  const Tensor planes = at::arange(planes_in_all, indices.options()).mul(plane).reshape(shape);
  return within.add(planes);
}

Result<Kernel> prepare_max_pool(const Preparation& p) {
  const Window window = window_of(p);
  if (window.kernel.empty() || window.kernel.size() > 3)
    return fail("windows of {} extents cannot be executed", window.kernel.size());
  if (p.wants(1))
    return [window, columns_first = p.integer("storage_order", 0) == 1](Call& c) {
      const Tensor& x = c.in(0);
      const Placed placed = place(window, x, -std::numeric_limits<double>::infinity());
      TORCH_CHECK(!placed.written_out, "the indices of a pool whose padding differs at its two ends");
      auto [most, indices] = max_pool_with_indices(window, placed);
      c.out(0, std::move(most));
      c.out(1, onnx_indices(indices, x, columns_first));
    };
  return [window](Call& c) {
    const Tensor& x = c.in(0);
    // Bytes are exact in floats, which ATen has kernels for.
    const Tensor image = is_floating(x) ? x : x.to(at::kFloat);
    const Placed placed = place(window, image, -std::numeric_limits<double>::infinity());
    c.out(0, max_pool(window, placed).to(x.scalar_type()));
  };
}

Tensor average_pool(const Window& w, const Placed& at, bool count_padding) {
  switch (w.kernel.size()) {
    case 1: return at::avg_pool1d(at.image, w.kernel, at.strides, at.pads, w.ceil, count_padding);
    case 2: return at::avg_pool2d(at.image, w.kernel, at.strides, at.pads, w.ceil, count_padding);
    default: return at::avg_pool3d(at.image, w.kernel, at.strides, at.pads, w.ceil, count_padding);
  }
}

Tensor average_pooled(const Window& window, const Tensor& x, bool count_padding) {
  const Placed placed = place(window, x, 0);
  const Tensor mean = average_pool(window, placed, count_padding);
  if (!placed.written_out || count_padding) return mean;
  // Padding that was written out counts in ATen's mean: the mean of a plane of ones says how much.
  Integers one_plane = sizes_of(x);
  one_plane[0] = one_plane[1] = 1;
  return mean.div(average_pool(window, place(window, at::ones(one_plane, x.options()), 0), false));
}

bool dilated(const Window& window) {
  return std::ranges::any_of(window.dilations, [](std::int64_t d) { return d != 1; });
}

Result<Kernel> prepare_average_pool(const Preparation& p) {
  const Window window = window_of(p);
  if (window.kernel.empty() || window.kernel.size() > 3)
    return fail("windows of {} extents cannot be executed", window.kernel.size());
  if (dilated(window)) return fail("LibTorch has no such pool with dilation");
  return [window, count_padding = p.integer("count_include_pad", 0) != 0](Call& c) {
    c.out(0, average_pooled(window, c.in(0), count_padding));
  };
}

Result<Kernel> prepare_lp_pool(const Preparation& p) {
  const Window window = window_of(p);
  if (window.kernel.empty() || window.kernel.size() > 3)
    return fail("windows of {} extents cannot be executed", window.kernel.size());
  if (dilated(window)) return fail("LibTorch has no such pool with dilation");
  double elements = 1;
  for (const std::int64_t k : window.kernel) elements *= static_cast<double>(k);
  return [window, elements, power = static_cast<double>(p.integer("p", 2))](Call& c) {
    const Tensor powers = c.in(0).abs().pow(power);
    c.out(0, average_pooled(window, powers, true).mul(elements).pow(1 / power));
  };
}

/// All but batch and channels.
Integers plane_axes(const Tensor& x) {
  Integers axes;
  for (std::int64_t axis = 2; axis < x.dim(); ++axis) axes.push_back(axis);
  return axes;
}

Tensor global_average(const Tensor& x) {
  switch (x.dim()) {
    case 3: return at::adaptive_avg_pool1d(x, {1});
    case 4: return at::adaptive_avg_pool2d(x, {1, 1});
    case 5: return at::adaptive_avg_pool3d(x, {1, 1, 1});
    default: return x.mean(plane_axes(x), true);
  }
}

Result<Kernel> prepare_global_lp_pool(const Preparation& p) {
  return [power = static_cast<double>(p.integer("p", 2))](Call& c) {
    const Tensor& x = c.in(0);
    c.out(0, x.abs().pow(power).sum(plane_axes(x), true).pow(1 / power));
  };
}

/// The indices count through the whole tensor that was pooled; one that is asked to be larger keeps them.
Result<Kernel> prepare_max_unpool(const Preparation& p) {
  return [window = window_of(p)](Call& c) {
    const Tensor& x = c.in(0);
    const std::size_t rank = window.kernel.size();
    const Integers strides = strides_of(window, rank);
    const Padding padding = padding_of(window, x.sizes().slice(2), window.kernel);
    Integers pooled = sizes_of(x);
    for (std::size_t i = 0; i < rank; ++i)
      pooled[i + 2] = (pooled[i + 2] - 1) * strides[i] + window.kernel[i] - padding.begin[i] - padding.end[i];
    std::int64_t elements = 1;
    for (const std::int64_t n : pooled) elements *= n;
    const Tensor flat =
        at::zeros({elements}, x.options()).scatter(0, c.in(1).reshape({-1}).to(at::kLong), x.reshape({-1}));
    const Tensor image = flat.reshape(pooled);
    if (!c.has(2)) return c.out(0, image);
    const Integers wanted = c.integers(2);
    Padding more{Integers(rank, 0), Integers(rank, 0)};
    for (std::size_t i = 0; i < rank; ++i) more.end[i] = wanted.at(i + 2) - pooled[i + 2];
    c.out(0, padded(image, more, 0));
  };
}

constexpr auto kPoolingRows = std::to_array<OperatorRow>({
    {"AveragePool", prepare_average_pool},
    {"GlobalAveragePool", unary<global_average>},
    {"GlobalLpPool", prepare_global_lp_pool},
    {"GlobalMaxPool", unary<[](const Tensor& x) { return x.amax(plane_axes(x), true); }>},
    {"LpPool", prepare_lp_pool},
    {"MaxPool", prepare_max_pool},
    {"MaxUnpool", prepare_max_unpool},
});

}  // namespace

std::span<const OperatorRow> pooling_rows() {
  return kPoolingRows;
}

}  // namespace plimsoll::engine
