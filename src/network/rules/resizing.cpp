#include "network/rules/resizing.hpp"

#include <algorithm>
#include <cmath>

#include "network/rules/axes.hpp"
#include "network/rules/folding.hpp"

namespace plimsoll::network {
namespace {

/// ONNX: floor(extent · scale), which runtimes compute in float32.
Dim scaled(InferenceContext& c, Dim extent, double scale) {
  const auto apply = [scale](std::int64_t n) -> std::int64_t {
    const double x = std::floor(static_cast<double>(static_cast<float>(n) * static_cast<float>(scale)));
    return x >= 0 && x < kTwoTo63 ? static_cast<std::int64_t>(x) : -1;
  };
  if (extent.exact()) return Dim::of(apply(extent.value()));
  if (const auto times = whole(Scalar::real(scale)); times && *times >= 0)
    return c.symbols().times(extent, Dim::of(*times));
  if (const auto over = whole(Scalar::real(1 / scale)); over && *over > 0)
    return c.symbols().divide(extent, Dim::of(*over));
  const Interval b = c.symbols().bounds(extent);
  const std::int64_t high = b.high == kUnbounded ? -1 : apply(b.high);
  return c.unknown("scaled", {std::max<std::int64_t>(0, apply(b.low)), high < 0 ? kUnbounded : high});
}

Status check_scale(const Scalar& s) {
  if (s.is_symbol() || !(s.real() > 0) || !std::isfinite(s.real()))
    return fail("a scale of {} cannot be", s.real());
  return {};
}

/// The part of an axis that tf_crop_and_resize takes: its end less its beginning; 1 in all other modes.
std::optional<double> kept_part(const InferenceContext& c, std::size_t i, std::size_t axes) {
  if (c.text("coordinate_transformation_mode", "half_pixel") != "tf_crop_and_resize" || c.opset() < 11)
    return 1.0;
  if (!c.has_value(1) || c.value(1).size() != 2 * axes) return std::nullopt;
  const Scalar &start = c.value(1)[i], &end = c.value(1)[i + axes];
  if (start.is_symbol() || end.is_symbol()) return std::nullopt;
  return end.real() - start.real();
}

Status scale_axes(InferenceContext& c, std::span<const Scalar> scales, std::span<const std::size_t> axes) {
  if (scales.size() != axes.size()) return fail("names {} scales for {} axes", scales.size(), axes.size());
  Shape shape(c.dims(0));
  for (std::size_t i = 0; i < axes.size(); ++i) {
    PLIMSOLL_TRY(check_scale(scales[i]));
    const auto part = kept_part(c, i, axes.size());
    Dim& extent = shape[axes[i]];
    if (!part) {
      extent = c.unknown("scaled", {});
    } else if (*part != 1.0 && extent.exact()) {
      const double x = std::floor(static_cast<double>(extent.value()) * *part * scales[i].real());
      extent = x >= 0 && x < kTwoTo63 ? Dim::of(static_cast<std::int64_t>(x)) : Dim::invalid();
    } else {
      extent = *part == 1.0 ? scaled(c, extent, scales[i].real()) : c.unknown("scaled", {});
    }
  }
  c.set(0, c.type(0), shape);
  return {};
}

/// keep_aspect_ratio_policy: one scale for all axes, the smallest or largest of those the sizes ask for.
void keep_ratio(InferenceContext& c, Shape& shape, std::span<const std::size_t> axes, bool not_larger) {
  double scale = -1;
  bool known = true;
  for (const std::size_t axis : axes) {
    const Dim have = c.dims(0)[axis], want = shape[axis];
    known = known && have.exact() && want.exact() && have.value() > 0;
    if (!known) break;
    const double s = static_cast<double>(want.value()) / static_cast<double>(have.value());
    scale = scale < 0 ? s : not_larger ? std::min(scale, s) : std::max(scale, s);
  }
  for (const std::size_t axis : axes) {
    if (!known) {
      shape[axis] = c.unknown("resized", {0, not_larger ? c.symbols().bounds(shape[axis]).high : kUnbounded});
      continue;
    }
    const double x = std::floor(scale * static_cast<double>(c.dims(0)[axis].value()) + 0.5);
    shape[axis] = x < kTwoTo63 ? Dim::of(static_cast<std::int64_t>(x)) : Dim::invalid();
  }
}

Status resize_to(InferenceContext& c, std::span<const Scalar> sizes, std::span<const std::size_t> axes) {
  if (sizes.size() != axes.size()) return fail("names {} sizes for {} axes", sizes.size(), axes.size());
  Shape shape(c.dims(0));
  for (std::size_t i = 0; i < axes.size(); ++i) {
    shape[axes[i]] = sizes[i].dim();
    if (!shape[axes[i]].valid()) return fail("a size of {} cannot be", sizes[i].real());
  }
  if (const auto policy = c.text("keep_aspect_ratio_policy", "stretch"); policy != "stretch")
    keep_ratio(c, shape, axes, policy == "not_larger");
  c.set(0, c.type(0), shape);
  return {};
}

bool given(const InferenceContext& c, std::size_t input) {
  // An empty tensor stands for an input left out, in exports of opset 11 and 12.
  return c.has(input) && length_of(c, input) != 0;
}

void unknown_axes(InferenceContext& c, std::span<const std::size_t> axes) {
  Shape shape(c.dims(0));
  for (const std::size_t axis : axes) shape[axis] = c.unknown("resized", {});
  c.set(0, c.type(0), shape);
}

}  // namespace

/// Opset 10: X, scales. From 11: X, roi, scales, sizes; axes came with 18.
Status resize(InferenceContext& c) {
  if (!c.ranked(0)) {
    c.set_unranked(0, c.type(0));
    return {};
  }
  std::size_t axes[kMaxRank] = {};
  std::size_t n = 0;
  if (const auto named = c.integers("axes"); !named.empty()) {
    PLIMSOLL_TRY(axis_set(named, c.rank(0)));
    for (const std::int64_t a : named) axes[n++] = *c.axis(a, c.rank(0));
  } else {
    for (; n < c.rank(0); ++n) axes[n] = n;
  }
  const std::span<const std::size_t> resized(axes, n);
  const std::size_t scales = c.opset() >= 11 ? 2 : 1;
  if (c.opset() >= 11 && given(c, 3)) {
    if (c.has_value(3)) return resize_to(c, c.value(3), resized);
  } else if (given(c, scales)) {
    if (c.has_value(scales)) return scale_axes(c, c.value(scales), resized);
  } else {
    return fail("has neither scales nor sizes");
  }
  unknown_axes(c, resized);
  return {};
}

/// Scales are an attribute up to opset 8, an input in 9 and 10.
Status upsample(InferenceContext& c) {
  if (!c.ranked(0)) {
    c.set_unranked(0, c.type(0));
    return {};
  }
  std::size_t axes[kMaxRank] = {};
  const std::size_t rank = c.rank(0);
  for (std::size_t i = 0; i < rank; ++i) axes[i] = i;
  const std::span<const std::size_t> all(axes, rank);
  if (c.has_value(1)) return scale_axes(c, c.value(1), all);
  if (c.has(1)) {
    unknown_axes(c, all);
    return {};
  }
  std::vector<Scalar> scales;
  if (const Attribute* a = c.attribute("scales"); a != nullptr && a->kind == Attribute::Kind::reals) {
    for (const double x : c.network().reals_of(*a)) scales.push_back(Scalar::real(x));
  } else {
    scales.assign(rank, Scalar::real(1));
    if (rank >= 2) {
      scales[rank - 2] = Scalar::real(c.real("height_scale", 1));
      scales[rank - 1] = Scalar::real(c.real("width_scale", 1));
    }
  }
  return scale_axes(c, scales, all);
}

}  // namespace plimsoll::network
