#include "network/rules/movement.hpp"

#include <algorithm>

#include "network/operators.hpp"
#include "network/rules/axes.hpp"
#include "network/rules/extents.hpp"
#include "network/rules/folding.hpp"

namespace plimsoll::network {
namespace {

Status transpose(InferenceContext& c) {
  const auto order = c.integers("perm");
  if (!c.ranked(0)) {
    if (order.empty())
      c.set_unranked(0, c.type(0));
    else
      c.set(0, c.type(0), unknown_shape(c, static_cast<std::int64_t>(order.size()), kUnbounded));
    return {};
  }
  const auto dims = c.dims(0);
  if (!order.empty() && order.size() != dims.size())
    return fail("perm names {} axes of a shape of rank {}", order.size(), dims.size());
  const Result<AxisSet> all = axis_set(order, dims.size());
  PLIMSOLL_TRY(all);
  const auto values = contents(c, 0);
  const Strides own = values ? strides_of(dims) : Strides{};
  Strides strides;
  Shape shape;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const std::size_t from =
        order.empty() ? dims.size() - 1 - i : *InferenceContext::axis(order[i], dims.size());
    shape.push_back(dims[from]);
    strides.step[i] = own.step[from];
  }
  c.set(0, c.type(0), shape);
  if (values) c.set_value(0, pick(*values, 0, strides, shape.dims()));
  return {};
}

/// Repeats are an input from opset 6; before, one axis and how often are two inputs.
Status tile(InferenceContext& c) {
  if (c.inputs() == 3) {
    if (c.ranked(0)) c.set(0, c.type(0), unknown_shape(c, static_cast<std::int64_t>(c.rank(0)), kUnbounded));
    return {};
  }
  if (!c.has_value(1)) {
    const auto length = length_of(c, 1);
    if (c.ranked(0))
      c.set(0, c.type(0), unknown_shape(c, static_cast<std::int64_t>(c.rank(0)), kUnbounded));
    else if (length)
      c.set(0, c.type(0), unknown_shape(c, *length, kUnbounded));
    else
      c.set_unranked(0, c.type(0));
    return {};
  }
  const auto repeats = c.value(1);
  if (!c.ranked(0)) {
    c.set(0, c.type(0), unknown_shape(c, static_cast<std::int64_t>(repeats.size()), kUnbounded));
    return {};
  }
  const auto dims = c.dims(0);
  if (repeats.size() != dims.size()) return fail("names {} repeats for {}", repeats.size(), c.show(dims));
  Shape shape;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const Dim n = repeats[i].dim();
    if (!n.valid()) return fail("cannot repeat {} times", repeats[i].real());
    shape.push_back(c.symbols().times(dims[i], n));
  }
  c.set(0, c.type(0), shape);
  const auto values = contents(c, 0);
  const auto n = small_count(shape.dims());
  if (values && n && dims.size() == 1) {
    std::vector<Scalar> out;
    for (std::size_t i = 0; i < *n; ++i) out.push_back((*values)[i % values->size()]);
    c.set_value(0, out);
  }
  return {};
}

Dim padded(Symbols& symbols, Dim extent, const Scalar& pad) {
  if (pad.is_integer() && pad.integer() < 0) {
    if (pad.integer() == std::numeric_limits<std::int64_t>::min()) return Dim::invalid();
    return symbols.minus(extent, Dim::of(-pad.integer()));
  }
  return symbols.plus(extent, pad.dim());
}

Status pad_by(InferenceContext& c, std::span<const Scalar> pads, std::span<const std::int64_t> axes,
              bool all_axes) {
  Shape shape(c.dims(0));
  const std::size_t padded_axes = all_axes ? shape.rank() : axes.size();
  if (pads.size() != 2 * padded_axes) return fail("names {} pads for {} axes", pads.size(), padded_axes);
  for (std::size_t i = 0; i < padded_axes; ++i) {
    const Result<std::size_t> axis = all_axes ? Result<std::size_t>(i) : c.axis(axes[i], shape.rank());
    PLIMSOLL_TRY(axis);
    if (pads[i].is_real() || pads[i + padded_axes].is_real()) return fail("a pad must be an integer");
    const Dim before = shape[*axis];
    // First what grows, then what shrinks: only the sum of both must not be negative.
    const bool first_shrinks = pads[i].is_integer() && pads[i].integer() < 0;
    const Scalar& one = pads[first_shrinks ? i + padded_axes : i];
    const Scalar& other = pads[first_shrinks ? i : i + padded_axes];
    shape[*axis] = padded(c.symbols(), padded(c.symbols(), before, one), other);
    if (!shape[*axis].valid())
      return fail("padding axis {} of {} leaves less than nothing", *axis, c.show(c.dims(0)));
  }
  c.set(0, c.type(0), shape);
  return {};
}

/// Pads are an attribute up to opset 10, an input after; axes came with opset 18.
Status pad(InferenceContext& c) {
  if (!c.ranked(0)) {
    const auto length = length_of(c, 1);
    if (length && !c.has(3))
      c.set(0, c.type(0), unknown_shape(c, *length / 2, kUnbounded));
    else
      c.set_unranked(0, c.type(0));
    return {};
  }
  const IntegerList axes = integer_list(c, "", 3);
  const bool all_axes = !axes.given;
  if (c.has(1)) {
    if (c.has_value(1) && (all_axes || axes.known)) return pad_by(c, c.value(1), axes.values, all_axes);
    // An axis that is named stays unknown, the others are as they were.
    Shape shape(c.dims(0));
    AxisSet touched;
    touched.set();
    if (axes.known) {
      const Result<AxisSet> named = axis_set(axes.values, shape.rank());
      PLIMSOLL_TRY(named);
      touched = *named;
    }
    for (std::size_t i = 0; i < shape.rank(); ++i)
      if (touched.test(i)) shape[i] = c.unknown("padded", {});
    c.set(0, c.type(0), shape);
    return {};
  }
  const auto attribute = c.attribute("pads") != nullptr ? c.integers("pads") : c.integers("paddings");
  std::vector<Scalar> pads;
  pads.reserve(attribute.size());
  for (const std::int64_t n : attribute) pads.push_back(Scalar::integer(n));
  return pad_by(c, pads, {}, true);
}

Result<std::int64_t> block_size(const InferenceContext& c) {
  const std::int64_t block = c.integer("blocksize", 0);
  if (block <= 0 || block > (std::int64_t{1} << 30)) return fail("a blocksize of {} cannot be", block);
  if (c.ranked(0) && c.rank(0) != 4) return fail("takes NxCxHxW, not {}", c.show(c.dims(0)));
  return block;
}

Result<Dim> divided(InferenceContext& c, Dim extent, std::int64_t by) {
  if (extent.exact() && extent.value() % by != 0)
    return fail("an extent of {} of {} does not divide by {}", extent.value(), c.show(c.dims(0)), by);
  return c.symbols().divide(extent, Dim::of(by));
}

Status depth_to_space(InferenceContext& c) {
  const auto block = block_size(c);
  PLIMSOLL_TRY(block);
  if (!c.ranked(0)) {
    c.set(0, c.type(0), unknown_shape(c, 4, kUnbounded));
    return {};
  }
  const auto d = c.dims(0);
  const auto depth = divided(c, d[1], *block * *block);
  PLIMSOLL_TRY(depth);
  const Dim by = Dim::of(*block);
  c.set(0, c.type(0), Shape{d[0], *depth, c.symbols().times(d[2], by), c.symbols().times(d[3], by)});
  return {};
}

Status space_to_depth(InferenceContext& c) {
  const auto block = block_size(c);
  PLIMSOLL_TRY(block);
  if (!c.ranked(0)) {
    c.set(0, c.type(0), unknown_shape(c, 4, kUnbounded));
    return {};
  }
  const auto d = c.dims(0);
  const auto height = divided(c, d[2], *block), width = divided(c, d[3], *block);
  PLIMSOLL_TRY(height);
  PLIMSOLL_TRY(width);
  c.set(0, c.type(0), Shape{d[0], c.symbols().times(d[1], Dim::of(*block * *block)), *height, *width});
  return {};
}

Status eye_like(InferenceContext& c) {
  const auto type = data_type_from_number(c.integer("dtype", 0));
  const DataType out = type && *type != DataType::undefined ? *type : c.type(0);
  if (c.ranked(0))
    c.set(0, out, Shape(c.dims(0)));
  else
    c.set(0, out, unknown_shape(c, 2, kUnbounded));
  return {};
}

/// N x (C·block) x L to N x C x image.
Status col2im(InferenceContext& c) {
  Shape shape;
  const bool known = c.ranked(0) && c.rank(0) == 3;
  shape.push_back(known ? c.dims(0)[0] : c.unknown("extent", {}));
  Dim block = Dim::of(1);
  if (c.has_value(2))
    for (const Scalar& s : c.value(2)) block = c.symbols().times(block, s.dim());
  else
    block = Dim::invalid();
  if (block.is(0)) return fail("a block of no elements cannot be");
  if (!known)
    shape.push_back(c.unknown("channels", {}));
  else if (!block.valid())
    shape.push_back(c.unknown("channels", {0, c.symbols().bounds(c.dims(0)[1]).high}));
  else
    shape.push_back(c.symbols().divide(c.dims(0)[1], block));
  if (c.has_value(1)) {
    for (const Scalar& s : c.value(1)) shape.push_back(s.dim());
  } else if (const auto length = length_of(c, 1)) {
    shape.append(unknown_shape(c, *length, kUnbounded).dims());
  } else {
    c.set_unranked(0, c.type(0));
    return {};
  }
  c.set(0, c.type(0), shape);
  return {};
}

Status center_crop_pad(InferenceContext& c) {
  if (!c.ranked(0)) {
    c.set_unranked(0, c.type(0));
    return {};
  }
  Shape shape(c.dims(0));
  const Attribute* named = c.attribute("axes");
  const auto axes = c.integers("axes");
  const std::size_t n = named != nullptr ? axes.size() : shape.rank();
  if (c.has_value(1) && c.value(1).size() != n)
    return fail("names {} extents for {} axes", c.value(1).size(), n);
  for (std::size_t i = 0; i < n; ++i) {
    const Result<std::size_t> axis =
        named != nullptr ? c.axis(axes[i], shape.rank()) : Result<std::size_t>(i);
    PLIMSOLL_TRY(axis);
    shape[*axis] = c.has_value(1) ? c.value(1)[i].dim() : c.unknown("cropped", {});
  }
  c.set(0, c.type(0), shape);
  return {};
}

constexpr OperatorInfo kMovementOperators[] = {
    {"CenterCropPad", 2, 2, 1, center_crop_pad},
    {"Col2Im", 3, 3, 1, col2im},
    {"Compress", 2, 2, 1, compress},
    {"Concat", 1, kAny, 1, concat},
    {"DepthToSpace", 1, 1, 1, depth_to_space},
    {"EyeLike", 1, 1, 1, eye_like},
    {"Flatten", 1, 1, 1, flatten},
    {"Gather", 2, 2, 1, gather},
    {"GatherElements", 2, 2, 1, gather_elements},
    {"GatherND", 2, 2, 1, gather_nd},
    {"OneHot", 3, 3, 1, one_hot},
    {"Pad", 1, 4, 1, pad},
    {"Reshape", 1, 2, 1, reshape},
    {"ReverseSequence", 2, 2, 1, like_first},
    {"Scatter", 3, 3, 1, scatter},
    {"ScatterElements", 3, 3, 1, scatter},
    {"ScatterND", 3, 3, 1, scatter},
    {"Slice", 1, 5, 1, slice},
    {"SpaceToDepth", 1, 1, 1, space_to_depth},
    {"Split", 1, 2, kAny, split},
    {"Squeeze", 1, 2, 1, squeeze},
    {"TensorScatter", 2, 3, 1, scatter},
    {"Tile", 2, 3, 1, tile},
    {"Transpose", 1, 1, 1, transpose},
    {"Trilu", 1, 2, 1, like_first},
    {"Unsqueeze", 1, 2, 1, unsqueeze},
};

}  // namespace

std::span<const OperatorInfo> movement_operators() {
  return kMovementOperators;
}

}  // namespace plimsoll::network
