#include "engine/operators/resize.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include <ATen/ops/from_blob.h>
#include <ATen/ops/upsample_bicubic2d.h>
#include <ATen/ops/upsample_bilinear2d.h>
#include <ATen/ops/upsample_nearest2d.h>
#include <ATen/ops/where.h>

namespace plimsoll::engine {
namespace {

using at::Tensor;
using Reals = std::vector<double>;

constexpr double kLongest = 1U << 31U;  // of one extent

enum class Interpolation : std::uint8_t { nearest, linear, cubic };

struct Resize {
  Interpolation mode = Interpolation::nearest;
  std::string coordinates = "half_pixel";
  std::string rounding = "round_prefer_floor";
  std::string policy = "stretch";
  double cubic = -0.75;
  double outside = 0;  ///< what tf_crop_and_resize finds beyond the image
  bool exclude_outside = false;
  Integers axes;  ///< empty: all
};

/// One axis of the image: how long it is, becomes, and what part of it is looked at.
struct Axis {
  std::int64_t before = 1, after = 1;
  double scale = 1;
  double length = 1;        ///< of the result before it is rounded to whole elements
  double from = 0, to = 1;  ///< of tf_crop_and_resize
  [[nodiscard]] bool kept() const { return before == after && scale == 1; }
};

/// Where an element of the result lies in the image, as each coordinate transformation says.
double source(const Resize& r, const Axis& a, std::int64_t i) {
  const auto x = static_cast<double>(i);
  const auto before = static_cast<double>(a.before), after = static_cast<double>(a.after);
  if (r.coordinates == "align_corners") return a.length <= 1 ? 0 : x * (before - 1) / (a.length - 1);
  if (r.coordinates == "asymmetric") return x / a.scale;
  if (r.coordinates == "pytorch_half_pixel") return a.after > 1 ? (x + 0.5) / a.scale - 0.5 : 0;
  if (r.coordinates == "tf_half_pixel_for_nn") return (x + 0.5) / a.scale;
  if (r.coordinates == "tf_crop_and_resize")
    return a.after > 1 ? a.from * (before - 1) + x * (a.to - a.from) * (before - 1) / (after - 1)
                       : 0.5 * (a.from + a.to) * (before - 1);
  if (r.coordinates == "half_pixel_symmetric") {
    const double adjustment = after / (a.scale * before);
    return before / 2 * (1 - adjustment) + (x + 0.5) / a.scale - 0.5;
  }
  return (x + 0.5) / a.scale - 0.5;
}

double rounded(const Resize& r, double x) {
  if (r.rounding == "floor") return std::floor(x);
  if (r.rounding == "ceil") return std::ceil(x);
  const bool tie = x == std::floor(x) + 0.5;
  if (tie) return r.rounding == "round_prefer_ceil" ? std::ceil(x) : std::floor(x);
  return std::round(x);
}

/// Which elements are read, and how they are weighed, relative to the element at floor(x).
struct Taps {
  std::int64_t first = 0;
  Reals weights;
};

Taps taps_at(const Resize& r, double x) {
  if (r.mode == Interpolation::nearest) return {static_cast<std::int64_t>(rounded(r, x)), {1}};
  const double base = std::floor(x), t = x - base;
  const auto at = static_cast<std::int64_t>(base);
  if (r.mode == Interpolation::linear) return {at, {1 - t, t}};
  const double a = r.cubic;
  const auto near = [a](double s) { return ((a + 2) * s - (a + 3)) * s * s + 1; };
  const auto far = [a](double s) { return ((a * s - 5 * a) * s + 8 * a) * s - 4 * a; };
  return {at - 1, {far(1 + t), near(t), near(1 - t), far(2 - t)}};
}

Tensor on_device_of(const Tensor& image, const Reals& numbers) {
  return at::from_blob(const_cast<double*>(numbers.data()), {static_cast<std::int64_t>(numbers.size())},
                       at::TensorOptions(at::kDouble))
      .to(image.options());
}
Tensor on_device_of(const Tensor& image, const Integers& numbers) {
  return at::from_blob(const_cast<std::int64_t*>(numbers.data()), {static_cast<std::int64_t>(numbers.size())},
                       at::TensorOptions(at::kLong))
      .clone()
      .to(image.device());
}

/// One axis after the other: every interpolation here is a product of one per axis.
Tensor resized_along(const Resize& r, const Tensor& image, std::int64_t axis, const Axis& a) {
  const std::size_t taps = r.mode == Interpolation::nearest ? 1 : r.mode == Interpolation::linear ? 2 : 4;
  std::vector<Integers> indices(taps);
  std::vector<Reals> weights(taps);
  Reals beyond;
  for (std::int64_t i = 0; i < a.after; ++i) {
    const double x = source(r, a, i);
    Taps found = taps_at(r, x);
    double total = 0;
    for (std::size_t k = 0; k < taps; ++k) {
      const std::int64_t at = found.first + static_cast<std::int64_t>(k);
      if (r.exclude_outside && (at < 0 || at >= a.before)) found.weights[k] = 0;
      total += found.weights[k];
      indices[k].push_back(std::clamp<std::int64_t>(at, 0, a.before - 1));
    }
    for (std::size_t k = 0; k < taps; ++k)
      weights[k].push_back(r.exclude_outside ? found.weights[k] / total : found.weights[k]);
    beyond.push_back(x < 0 || x > static_cast<double>(a.before - 1) ? 1 : 0);
  }
  Integers shape(static_cast<std::size_t>(image.dim()), 1);
  shape.at(static_cast<std::size_t>(axis)) = a.after;
  Tensor result;
  for (std::size_t k = 0; k < taps; ++k) {
    Tensor term = image.index_select(axis, on_device_of(image, indices[k]));
    if (taps > 1) term = term.mul(on_device_of(image, weights[k]).reshape(shape));
    result = result.defined() ? result.add(term) : term;
  }
  if (r.coordinates != "tf_crop_and_resize") return result;
  return result.masked_fill(on_device_of(image, beyond).reshape(shape).gt(0.5), r.outside);
}

/// ATen's own kernels where they compute the same: images of two extents, batch and channels as they are.
Tensor as_aten(const Resize& r, const Tensor& x, const std::vector<Axis>& axes, bool by_scale) {
  if (x.dim() != 4 || !axes[0].kept() || !axes[1].kept() || !is_floating(x)) return {};
  const Integers sizes = {axes[2].after, axes[3].after};
  const bool half_pixel = r.coordinates == "half_pixel" || r.coordinates == "pytorch_half_pixel";
  const bool corners = r.coordinates == "align_corners";
  // ATen counts whole elements between the corners, ONNX the exact length.
  if (corners &&
      (axes[2].length != static_cast<double>(sizes[0]) || axes[3].length != static_cast<double>(sizes[1])))
    return {};
  const bool usual = (half_pixel && axes[2].after > 1 && axes[3].after > 1) || corners;
  c10::optional<double> rows, columns;
  if (by_scale && !corners) {
    rows = axes[2].scale;
    columns = axes[3].scale;
  }
  switch (r.mode) {
    case Interpolation::nearest:
      if (r.coordinates != "asymmetric" || r.rounding != "floor") return {};
      return at::upsample_nearest2d(x, sizes, rows, columns);
    case Interpolation::linear:
      return usual ? at::upsample_bilinear2d(x, sizes, corners, rows, columns) : Tensor();
    case Interpolation::cubic:
      if (!usual || r.cubic != -0.75 || r.exclude_outside) return {};
      return at::upsample_bicubic2d(x, sizes, corners, rows, columns);
  }
  return {};
}

Tensor resized(const Resize& r, const Tensor& x, const std::vector<Axis>& axes, bool by_scale) {
  if (r.coordinates != "tf_crop_and_resize") {
    if (std::ranges::all_of(axes, &Axis::kept)) return x;
    if (Tensor y = as_aten(r, x, axes, by_scale); y.defined()) return y;
  }
  const bool whole = !is_floating(x) && r.mode != Interpolation::nearest;
  Tensor y = whole ? x.to(at::kFloat) : x;
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (!axes[i].kept() || r.coordinates == "tf_crop_and_resize")
      y = resized_along(r, y, static_cast<std::int64_t>(i), axes[i]);
  return whole ? y.to(x.scalar_type()) : y;
}

Reals reals_of(Call& c, std::size_t input) {
  const Tensor host = c.where_it_lies(input).to(at::kCPU, at::kDouble).contiguous();
  const auto* first = host.data_ptr<double>();
  return {first, first + host.numel()};
}

/// The scale that keeps the image's proportions, where that is asked for.
void keep_proportions(const Resize& r, std::vector<Axis>& axes, const Integers& along) {
  if (r.policy == "stretch") return;
  const bool larger = r.policy == "not_smaller";
  double scale = larger ? 0 : std::numeric_limits<double>::infinity();
  for (const std::int64_t axis : along) {
    const double s = axes.at(static_cast<std::size_t>(axis)).scale;
    scale = larger ? std::max(scale, s) : std::min(scale, s);
  }
  for (const std::int64_t axis : along) {
    Axis& a = axes.at(static_cast<std::size_t>(axis));
    a.scale = scale;
    a.after = static_cast<std::int64_t>(std::floor(scale * static_cast<double>(a.before) + 0.5));
    a.length = static_cast<double>(a.after);
  }
}

/// What the inputs ask for; they stand in another order before operator set 11.
struct Inputs {
  std::size_t region, scales, sizes;
  std::optional<Reals> known_scales;
  std::optional<Integers> known_sizes;
};

void run(const Resize& r, const Inputs& inputs, Call& c) {
  const Tensor& x = c.in(0);
  std::vector<Axis> axes(static_cast<std::size_t>(x.dim()));
  for (std::size_t i = 0; i < axes.size(); ++i)
    axes[i].before = axes[i].after = x.size(static_cast<std::int64_t>(i));
  Integers along = wrapped(r.axes, x.dim());
  if (along.empty()) {
    along.resize(axes.size());
    std::iota(along.begin(), along.end(), 0);
  }
  const Reals scales = inputs.known_scales    ? *inputs.known_scales
                       : c.has(inputs.scales) ? reals_of(c, inputs.scales)
                                              : Reals{};
  const bool by_scale = !scales.empty();
  const Integers sizes = by_scale             ? Integers{}
                         : inputs.known_sizes ? *inputs.known_sizes
                                              : c.integers(inputs.sizes);
  const bool crop = r.coordinates == "tf_crop_and_resize";
  const Reals region = crop && c.has(inputs.region) ? reals_of(c, inputs.region) : Reals{};
  TORCH_CHECK((by_scale ? scales.size() : sizes.size()) == along.size(), "as many scales or sizes as axes");
  TORCH_CHECK(region.empty() || region.size() == 2 * along.size(), "two ends of the region for each axis");
  for (std::size_t i = 0; i < along.size(); ++i) {
    Axis& a = axes.at(static_cast<std::size_t>(along[i]));
    if (!region.empty()) {
      a.from = region[i];
      a.to = region[i + along.size()];
    }
    const auto before = static_cast<double>(a.before);
    a.scale = by_scale ? scales[i] : static_cast<double>(sizes[i]) / before;
    a.length = by_scale ? before * (a.to - a.from) * a.scale : static_cast<double>(sizes[i]);
    TORCH_CHECK(a.before > 0 && a.length >= 0 && a.length < kLongest, "an extent of ", a.before,
                " resized to ", a.length);
    a.after = static_cast<std::int64_t>(std::floor(a.length));
  }
  if (!by_scale) keep_proportions(r, axes, along);
  c.out(0, resized(r, x, axes, by_scale));
}

std::optional<Interpolation> mode_of(const Preparation& p) {
  const std::string_view mode = p.text("mode", "nearest");
  if (mode == "nearest") return Interpolation::nearest;
  if (mode == "linear" || mode == "bilinear") return Interpolation::linear;
  if (mode == "cubic") return Interpolation::cubic;
  return std::nullopt;
}

std::optional<Reals> known_scales(const Preparation& p, std::size_t input) {
  auto known = p.known_numbers(input);
  return known && !known->empty() ? std::move(known) : std::nullopt;
}

}  // namespace

Result<Kernel> prepare_resize(const Preparation& p) {
  Resize r;
  const auto mode = mode_of(p);
  if (!mode) return fail("resizing mode {} is not known", p.text("mode", ""));
  if (p.integer("antialias", 0) != 0) return fail("resizing with antialias cannot be executed");
  r.mode = *mode;
  r.coordinates = p.text("coordinate_transformation_mode", p.opset() < 11 ? "asymmetric" : "half_pixel");
  r.rounding = p.text("nearest_mode", p.opset() < 11 ? "floor" : "round_prefer_floor");
  r.policy = p.text("keep_aspect_ratio_policy", "stretch");
  r.cubic = p.real("cubic_coeff_a", -0.75);
  r.outside = p.real("extrapolation_value", 0);
  r.exclude_outside = p.integer("exclude_outside", 0) != 0;
  r.axes = p.integers("axes");
  Inputs inputs{1, 2, 3, {}, p.known_integers(3)};
  if (p.opset() < 11) inputs = {9, 1, 9, {}, {}};
  inputs.known_scales = known_scales(p, inputs.scales);
  return [r, inputs](Call& c) { run(r, inputs, c); };
}

/// The forerunner of Resize: scales only, as an attribute before operator set 9.
Result<Kernel> prepare_upsample(const Preparation& p) {
  Resize r;
  const auto mode = mode_of(p);
  if (!mode) return fail("resizing mode {} is not known", p.text("mode", ""));
  r.mode = *mode;
  r.coordinates = "asymmetric";
  r.rounding = "floor";
  Inputs inputs{9, 1, 9, known_scales(p, 1), {}};
  if (p.has_attribute("scales")) inputs.known_scales = p.reals("scales");
  return [r, inputs](Call& c) { run(r, inputs, c); };
}

}  // namespace plimsoll::engine
