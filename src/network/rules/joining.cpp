#include <algorithm>

#include "network/rules/axes.hpp"
#include "network/rules/folding.hpp"
#include "network/rules/movement.hpp"

namespace plimsoll::network {
namespace {

/// The contents of one part of an input along an axis.
void fold_part(InferenceContext& c, std::size_t output, std::size_t axis, std::int64_t start,
               const Shape& shape) {
  const auto values = contents(c, 0);
  if (!values || !small_count(shape.dims())) return;
  const Strides strides = strides_of(c.dims(0));
  c.set_value(output, pick(*values, start * strides.step[axis], strides, shape.dims()));
}

/// The contents of a concatenation: for every step before the axis, a stretch of each input.
void fold_concat(InferenceContext& c, std::size_t axis, const Shape& shape) {
  const auto n = small_count(shape.dims());
  if (!n) return;
  for (std::size_t i = 0; i < c.inputs(); ++i)
    if (!contents(c, i)) return;
  std::size_t outer = 1;
  for (std::size_t i = 0; i < axis; ++i) outer *= static_cast<std::size_t>(shape[i].value());
  std::vector<Scalar> out;
  out.reserve(*n);
  for (std::size_t k = 0; k < outer && out.size() < *n; ++k)
    for (std::size_t i = 0; i < c.inputs(); ++i) {
      const auto values = c.value(i);
      const std::size_t stretch = values.size() / outer;
      const auto part = values.subspan(k * stretch, stretch);
      out.insert(out.end(), part.begin(), part.end());
    }
  c.set_value(0, out);
}

/// Sums extents, the exact ones apart, so that equal parts in any order give one symbol where they can.
class Sum {
 public:
  void add(Symbols& symbols, Dim d) {
    if (d.exact())
      exact_ = symbols.plus(exact_, d);
    else
      rest_ = symbols.plus(rest_, d);
  }
  Dim total(Symbols& symbols) const { return symbols.plus(rest_, exact_); }

 private:
  Dim exact_, rest_;
};

}  // namespace

Status concat(InferenceContext& c) {
  std::optional<Shape> shape;
  std::size_t axis = 0;
  DataType type = DataType::undefined;
  Sum sum;
  bool all_ranked = true, all_known = true;
  for (std::size_t i = 0; i < c.inputs(); ++i) {
    if (!c.has(i)) continue;
    if (type == DataType::undefined) type = c.type(i);
    all_known = all_known && c.has_value(i);
    if (!c.ranked(i)) {
      all_ranked = false;
      continue;
    }
    const auto dims = c.dims(i);
    if (!shape) {
      shape = Shape(dims);
      const Result<std::size_t> named = c.axis(c.integer("axis", 1), dims.size());
      PLIMSOLL_TRY(named);
      axis = *named;
    } else if (dims.size() != shape->rank()) {
      return fail("cannot join {} to {}: their ranks differ", c.show(dims), c.show(c.dims(0)));
    }
    sum.add(c.symbols(), dims[axis]);
    for (std::size_t k = 0; k < dims.size(); ++k) {
      if (k == axis || dims[k] == (*shape)[k]) continue;
      if (dims[k].exact() && (*shape)[k].exact())
        return fail("input {} is {}: it cannot be joined along axis {} to others whose extent {} is {}", i,
                    c.show(dims), axis, k, (*shape)[k].value());
      if (dims[k].exact()) (*shape)[k] = dims[k];  // the others must be equal to it
    }
  }
  if (!shape) {
    c.set_unranked(0, type);
    return {};
  }
  (*shape)[axis] = all_ranked ? sum.total(c.symbols()) : c.unknown("extent", {});
  c.set(0, type, *shape);
  if (all_known && all_ranked) fold_concat(c, axis, *shape);
  return {};
}

namespace {

/// Parts of known sizes, some of which may be symbols.
Status split_sizes(InferenceContext& c, std::size_t axis, std::span<const Scalar> sizes) {
  if (sizes.size() != c.outputs()) return fail("names {} sizes for {} outputs", sizes.size(), c.outputs());
  const Dim extent = c.dims(0)[axis];
  Dim total;
  std::int64_t start = 0;
  bool placed = true;  // whether it is known where the part begins
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const Dim size = sizes[i].dim();
    if (!size.valid()) return fail("part {} cannot have a size of {}", i, sizes[i].real());
    total = c.symbols().plus(total, size);
    Shape shape(c.dims(0));
    shape[axis] = size;
    c.set(i, c.type(0), shape);
    if (placed && c.has_value(0) && total.exact() && extent.exact() && total.value() <= extent.value())
      fold_part(c, i, axis, start, shape);
    placed = placed && total.exact();
    if (placed) start = total.value();
  }
  const Interval have = c.symbols().bounds(extent), want = c.symbols().bounds(total);
  if (!total.valid() || have.high < want.low || want.high < have.low)
    return fail("the parts come to {}, the extent to be split is {}", c.symbols().text(total),
                c.symbols().text(extent));
  return {};
}

Status split_evenly(InferenceContext& c, std::size_t axis) {
  const auto parts = static_cast<std::int64_t>(c.outputs());
  if (parts == 0) return {};
  const std::int64_t named = c.integer("num_outputs", parts);
  if (named != parts) return fail("num_outputs is {}, but it has {} outputs", named, parts);
  const Dim extent = c.dims(0)[axis];
  const Dim size = c.symbols().divide_up(extent, Dim::of(parts));
  // Until opset 18 all parts are equal or it does not run.
  const Dim last = extent.exact()   ? c.symbols().minus(extent, c.symbols().times(size, Dim::of(parts - 1)))
                   : c.opset() < 18 ? size
                                    : c.unknown("last part", {0, c.symbols().bounds(size).high});
  if (extent.exact() && last != size && (c.opset() < 18 || !last.valid()))
    return fail("an extent of {} cannot be split into {} parts", extent.value(), parts);
  Shape shape(c.dims(0));
  for (std::int64_t i = 0; i < parts; ++i) {
    shape[axis] = i + 1 == parts ? last : size;
    c.set(static_cast<std::size_t>(i), c.type(0), shape);
    if (c.has_value(0) && extent.exact())
      fold_part(c, static_cast<std::size_t>(i), axis, i * size.value(), shape);
  }
  return {};
}

}  // namespace

Status split(InferenceContext& c) {
  if (!c.ranked(0)) {
    for (std::size_t i = 0; i < c.outputs(); ++i) c.set_unranked(i, c.type(0));
    return {};
  }
  const Result<std::size_t> axis = c.axis(c.integer("axis", 0), c.rank(0));
  PLIMSOLL_TRY(axis);
  if (const auto sizes = c.integers("split"); !sizes.empty()) {
    std::vector<Scalar> scalars;
    scalars.reserve(sizes.size());
    for (const std::int64_t n : sizes) scalars.push_back(Scalar::integer(n));
    return split_sizes(c, *axis, scalars);
  }
  if (!c.has(1)) return split_evenly(c, *axis);
  if (c.has_value(1)) return split_sizes(c, *axis, c.value(1));
  Shape shape(c.dims(0));
  const std::int64_t high = c.symbols().bounds(shape[*axis]).high;
  for (std::size_t i = 0; i < c.outputs(); ++i) {
    if (!c.wants(i)) continue;
    shape[*axis] = c.unknown("part", {0, high});
    c.set(i, c.type(0), shape);
  }
  return {};
}

}  // namespace plimsoll::network
