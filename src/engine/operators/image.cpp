#include <algorithm>
#include <array>
#include <string>

#include <ATen/ops/affine_grid_generator.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/col2im.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/grid_sampler.h>
#include <ATen/ops/pad.h>
#include <ATen/ops/pixel_shuffle.h>

#include "engine/operators/resize.hpp"

namespace plimsoll::engine {
namespace {

using at::Tensor;

/// Blocks of channels become blocks of the image: depth first (DCR) or column first (CRD).
Result<Kernel> prepare_depth_to_space(const Preparation& p) {
  const bool columns_first = p.text("mode", "DCR") == "CRD";
  if (p.integer("blocksize", 1) < 1) return fail("blocks of {} elements", p.integer("blocksize", 1));
  return [columns_first, b = p.integer("blocksize", 1)](Call& c) {
    const Tensor& x = c.in(0);
    const std::int64_t n = x.size(0), depth = x.size(1) / (b * b), h = x.size(2), w = x.size(3);
    if (columns_first) return c.out(0, at::pixel_shuffle(x, b));
    const Tensor blocks = x.reshape({n, b, b, depth, h, w}).permute({0, 3, 4, 1, 5, 2});
    c.out(0, blocks.reshape({n, depth, h * b, w * b}));
  };
}

Result<Kernel> prepare_space_to_depth(const Preparation& p) {
  if (p.integer("blocksize", 1) < 1) return fail("blocks of {} elements", p.integer("blocksize", 1));
  return [b = p.integer("blocksize", 1)](Call& c) {
    const Tensor& x = c.in(0);
    const std::int64_t n = x.size(0), depth = x.size(1), h = x.size(2) / b, w = x.size(3) / b;
    const Tensor blocks = x.reshape({n, depth, h, b, w, b}).permute({0, 3, 5, 1, 2, 4});
    c.out(0, blocks.reshape({n, depth * b * b, h, w}));
  };
}

Result<Kernel> prepare_grid_sample(const Preparation& p) {
  const std::string_view mode = p.text("mode", "linear"), padding = p.text("padding_mode", "zeros");
  const std::int64_t interpolation = mode == "nearest" ? 1 : mode == "cubic" || mode == "bicubic" ? 2 : 0;
  const std::int64_t outside = padding == "border" ? 1 : padding == "reflection" ? 2 : 0;
  return [=, corners = p.integer("align_corners", 0) != 0](Call& c) {
    c.out(0, at::grid_sampler(c.in(0), c.in(1), interpolation, outside, corners));
  };
}

struct Pad {
  std::string mode;
  IntegerList pads, axes;
  std::optional<double> value;  ///< nullopt: read at each call

  /// All beginnings, then all ends, for every axis.
  [[nodiscard]] Integers ends(Call& c, std::int64_t rank) const {
    const Integers given = pads.read(c);
    const auto all = static_cast<std::size_t>(rank);
    if (!axes.given()) {
      TORCH_CHECK(given.size() == 2 * all, "two pads for each axis");
      return given;
    }
    const Integers along = wrapped(axes.read(c), rank);
    TORCH_CHECK(given.size() == 2 * along.size(), "two pads for each axis");
    Integers full(2 * all, 0);
    for (std::size_t i = 0; i < along.size(); ++i) {
      full.at(static_cast<std::size_t>(along[i])) = given[i];
      full.at(static_cast<std::size_t>(along[i]) + all) = given[i + along.size()];
    }
    return full;
  }

  void operator()(Call& c) const {
    const Tensor& x = c.in(0);
    const Integers all = ends(c, x.dim());
    const auto rank = static_cast<std::size_t>(x.dim());
    if (mode == "constant") {
      Integers reversed;  // ATen's order: the last axis first
      for (std::size_t i = rank; i-- > 0;) reversed.insert(reversed.end(), {all[i], all[i + rank]});
      return c.out(0, at::constant_pad_nd(x, reversed, value ? *value : c.number(2)));
    }
    if (Tensor y = as_aten(x, all); y.defined()) return c.out(0, std::move(y));
    Tensor y = x;
    for (std::size_t i = 0; i < rank; ++i)
      if (all[i] != 0 || all[i + rank] != 0)
        y = along(y, static_cast<std::int64_t>(i), all[i], all[i + rank]);
    c.out(0, std::move(y));
  }

  /// ATen reflects and repeats images: not their batch or channels.
  [[nodiscard]] Tensor as_aten(const Tensor& x, const Integers& all) const {
    const auto rank = static_cast<std::size_t>(x.dim());
    if (rank < 3 || rank > 5 || !is_floating(x) || mode == "wrap") return {};
    if (all[0] != 0 || all[1] != 0 || all[rank] != 0 || all[rank + 1] != 0) return {};
    if (std::ranges::any_of(all, [](std::int64_t n) { return n < 0; })) return {};
    Integers reversed;
    for (std::size_t i = rank; i-- > 2;) reversed.insert(reversed.end(), {all[i], all[i + rank]});
    return at::pad(x, reversed, mode == "edge" ? "replicate" : "reflect");
  }

  /// One axis by the indices it repeats.
  [[nodiscard]] Tensor along(const Tensor& x, std::int64_t axis, std::int64_t before,
                             std::int64_t after) const {
    const std::int64_t extent = x.size(axis);
    Tensor index = at::arange(-before, extent + after, x.options().dtype(at::kLong));
    if (mode == "edge") {
      index = index.clamp(0, extent - 1);
    } else if (mode == "wrap") {
      index = index.remainder(extent);
    } else {
      const std::int64_t period = std::max<std::int64_t>(1, 2 * (extent - 1));
      index = index.remainder(period);
      index = index.minimum(index.neg().add(period));
    }
    return x.index_select(axis, index);
  }
};

Result<Kernel> prepare_pad(const Preparation& p) {
  Pad pad{std::string(p.text("mode", "constant")), IntegerList(p, p.opset() < 2 ? "paddings" : "pads", 1),
          IntegerList(p, "axes", 3), p.real("value", 0)};
  if (pad.mode != "constant" && pad.mode != "reflect" && pad.mode != "edge" && pad.mode != "wrap")
    return fail("padding mode {} is not known", pad.mode);
  if (p.has(2)) {
    const auto known = p.known_numbers(2);
    pad.value = known && known->size() == 1 ? std::optional(known->front()) : std::nullopt;
  }
  return pad;
}

/// Cut or padded on both sides, more at the end where it does not come out even.
Result<Kernel> prepare_center_crop_pad(const Preparation& p) {
  return [shape = IntegerList(p, "shape", 1), axes = p.integers("axes")](Call& c) {
    Tensor x = c.in(0);
    const Integers wanted = shape.read(c), along = wrapped(axes, x.dim());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const std::int64_t axis = along.empty() ? static_cast<std::int64_t>(i) : along.at(i);
      const std::int64_t more = wanted[i] - x.size(axis);
      if (more <= 0) {
        x = x.narrow(axis, -more / 2, wanted[i]);
        continue;
      }
      Integers pads(static_cast<std::size_t>(2 * (x.dim() - axis)), 0);
      pads[pads.size() - 2] = more / 2;
      pads[pads.size() - 1] = more - more / 2;
      x = at::constant_pad_nd(x, pads, 0);
    }
    c.out(0, std::move(x));
  };
}

Result<Kernel> prepare_affine_grid(const Preparation& p) {
  return [corners = p.integer("align_corners", 0) != 0](Call& c) {
    c.out(0, at::affine_grid_generator(c.in(0), c.integers(1), corners));
  };
}

/// Columns of patches put together again to images of two extents.
Result<Kernel> prepare_col_to_image(const Preparation& p) {
  const Integers pads = p.has_attribute("pads") ? p.integers("pads") : Integers{0, 0, 0, 0};
  const auto extents = p.known_integers(1);
  if (pads.size() != 4 || (extents && extents->size() != 2))
    return fail("Col2Im of other than two extents cannot be executed");
  if (pads[0] != pads[2] || pads[1] != pads[3]) return fail("Col2Im with unlike pads cannot be executed");
  const auto pair = [&p](std::string_view name) {
    return p.has_attribute(name) ? p.integers(name) : Integers{1, 1};
  };
  return
      [pads = Integers{pads[0], pads[1]}, dilations = pair("dilations"), strides = pair("strides")](Call& c) {
        c.out(0, at::col2im(c.in(0), c.integers(1), c.integers(2), dilations, pads, strides));
      };
}

constexpr auto kImageRows = std::to_array<OperatorRow>({
    {"AffineGrid", prepare_affine_grid},
    {"CenterCropPad", prepare_center_crop_pad},
    {"Col2Im", prepare_col_to_image},
    {"DepthToSpace", prepare_depth_to_space},
    {"GridSample", prepare_grid_sample},
    {"Pad", prepare_pad, "", kShapes},
    {"Resize", prepare_resize},
    {"SpaceToDepth", prepare_space_to_depth},
    {"Upsample", prepare_upsample},
});

}  // namespace

std::span<const OperatorRow> image_rows() {
  return kImageRows;
}

}  // namespace plimsoll::engine
