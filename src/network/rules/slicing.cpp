#include <algorithm>

#include "network/rules/axes.hpp"
#include "network/rules/folding.hpp"
#include "network/rules/movement.hpp"

namespace plimsoll::network {
namespace {

// From here on exporters mean "to the end", whatever the extent.
constexpr std::int64_t kFarAway = std::numeric_limits<std::int32_t>::max();

std::int64_t magnitude(std::int64_t n) {
  if (n == std::numeric_limits<std::int64_t>::min()) return std::numeric_limits<std::int64_t>::max();
  return n < 0 ? -n : n;
}

/// The contents of one part of an input along an axis.
void fold_part(InferenceContext& c, std::size_t output, std::size_t axis, std::int64_t start, const Shape& shape) {
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
        return fail("input {} is {}: it cannot be joined along axis {} to others whose extent {} is {}", i, c.show(dims),
                    axis, k, (*shape)[k].value());
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
    return fail("the parts come to {}, the extent to be split is {}", c.symbols().text(total), c.symbols().text(extent));
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
  const Dim last = extent.exact()     ? c.symbols().minus(extent, c.symbols().times(size, Dim::of(parts - 1)))
                   : c.opset() < 18 ? size
                                    : c.unknown("last part", {0, c.symbols().bounds(size).high});
  if (extent.exact() && last != size && (c.opset() < 18 || !last.valid()))
    return fail("an extent of {} cannot be split into {} parts", extent.value(), parts);
  Shape shape(c.dims(0));
  for (std::int64_t i = 0; i < parts; ++i) {
    shape[axis] = i + 1 == parts ? last : size;
    c.set(static_cast<std::size_t>(i), c.type(0), shape);
    if (c.has_value(0) && extent.exact()) fold_part(c, static_cast<std::size_t>(i), axis, i * size.value(), shape);
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

namespace {

/// What is cut from one axis.
struct Cut {
  Dim length;
  std::optional<std::int64_t> first;  ///< where it begins, if that is known
};

Cut cut_exact(std::int64_t extent, std::int64_t start, std::int64_t end, std::int64_t step) {
  const bool forward = step > 0;
  const std::int64_t lowest = forward ? 0 : -1, top = forward ? extent : extent - 1;
  // A negative position counts from the end; what is still outside is clamped.
  const auto clamped = [&](std::int64_t at) { return std::clamp(at < 0 ? at + extent : at, lowest, top); };
  const std::int64_t from = clamped(start), to = clamped(end);
  const std::int64_t distance = forward ? to - from : from - to;
  const std::int64_t by = magnitude(step);
  const std::int64_t n = distance <= 0 ? 0 : distance / by + (distance % by != 0);
  return {Dim::of(n), from};
}

/// The position as an extent between 0 and `extent`, for steps forward.
Dim position(Symbols& symbols, Dim extent, const Scalar& at) {
  if (at.is_symbol()) return symbols.minimum(at.dim(), extent);
  if (at.integer() < 0) return symbols.minus(extent, Dim::of(magnitude(at.integer())));
  return at.integer() >= kFarAway && symbols.bounds(extent).high == kUnbounded
             ? extent
             : symbols.minimum(extent, Dim::of(at.integer()));
}

Cut cut(InferenceContext& c, Dim extent, const Scalar& start, const Scalar& end, std::int64_t step) {
  Symbols& symbols = c.symbols();
  if (extent.exact() && start.is_integer() && end.is_integer())
    return cut_exact(extent.value(), start.integer(), end.integer(), step);
  const std::int64_t high = symbols.bounds(extent).high;
  const Dim by = Dim::of(magnitude(step));
  if (step < 0) {
    const auto at_end = [&](const Scalar& s) {
      return s.is_integer() && (s.integer() == -1 || s.integer() >= std::min(kFarAway, high));
    };
    const auto before_all = [&](const Scalar& s) { return s.is_integer() && s.integer() <= -std::min(kFarAway, high) - 1; };
    if (at_end(start) && before_all(end)) return {symbols.divide_up(extent, by), std::nullopt};
    return {c.unknown("slice", {0, symbols.bounds(symbols.divide_up(extent, by)).high}), std::nullopt};
  }
  // Both counted from the end: the part is what the first reaches back less what the second does.
  const bool both_back = start.is_integer() && start.integer() < 0;
  const Dim to = position(symbols, extent, end);
  if (both_back) {
    const Dim back = symbols.minimum(extent, Dim::of(magnitude(start.integer())));
    if (to == extent) return {symbols.divide_up(back, by), std::nullopt};
    if (end.is_integer() && end.integer() < 0) {
      const Dim kept = symbols.minimum(extent, Dim::of(magnitude(end.integer())));
      if (start.integer() >= end.integer()) return {Dim::of(0), std::nullopt};
      return {symbols.divide_up(symbols.minus(back, kept), by), std::nullopt};
    }
  }
  const Dim from = position(symbols, extent, start);
  if (from.exact() && to.exact() && from.value() >= to.value()) return {Dim::of(0), from.value()};
  // From the front to a distance before the end is one subtraction from the extent itself.
  if (start.is_integer() && start.integer() >= 0 && end.is_integer() && end.integer() < 0) {
    std::int64_t dropped = 0;
    if (__builtin_add_overflow(start.integer(), magnitude(end.integer()), &dropped)) return {Dim::of(0), std::nullopt};
    return {symbols.divide_up(symbols.minus(extent, Dim::of(dropped)), by), std::nullopt};
  }
  if (to == extent && from.exact()) return {symbols.divide_up(symbols.minus(extent, from), by), std::nullopt};
  return {symbols.divide_up(symbols.minus(to, from), by), std::nullopt};
}

/// One of Slice's lists: an attribute up to opset 9, an input after.
struct Positions {
  bool given = false;
  std::optional<std::size_t> length;
  std::vector<Scalar> values;
  bool known = false;
};

Positions positions(const InferenceContext& c, std::string_view attribute, std::size_t input) {
  Positions out;
  if (c.has_value(input)) {
    const auto values = c.value(input);
    out.values.assign(values.begin(), values.end());
    out.given = out.known = true;
    out.length = values.size();
    return out;
  }
  const IntegerList list = integer_list(c, attribute, input);
  out.given = list.given;
  out.length = list.length;
  out.known = list.known;
  for (const std::int64_t n : list.values) out.values.push_back(Scalar::integer(n));
  return out;
}

/// Slice whose axes are not known: any axis may be cut, none grows.
void slice_anywhere(InferenceContext& c) {
  Shape shape;
  for (const Dim d : c.dims(0)) shape.push_back(c.unknown("slice", {0, c.symbols().bounds(d).high}));
  c.set(0, c.type(0), shape);
}

}  // namespace

Status slice(InferenceContext& c) {
  if (!c.ranked(0)) {
    c.set_unranked(0, c.type(0));
    return {};
  }
  const auto dims = c.dims(0);
  const Positions starts = positions(c, "starts", 1), ends = positions(c, "ends", 2), steps = positions(c, "steps", 4);
  IntegerList axes = integer_list(c, "axes", 3);
  const auto length = starts.length ? starts.length : ends.length ? ends.length : axes.length;
  if (!length || (axes.given && !axes.known)) {
    slice_anywhere(c);
    return {};
  }
  if ((starts.length && *starts.length != *length) || (ends.length && *ends.length != *length) ||
      (axes.length && *axes.length != *length) || (steps.length && *steps.length != *length))
    return fail("starts, ends, axes and steps differ in length");
  if (*length > dims.size()) return fail("cuts {} axes of a shape of rank {}", *length, dims.size());
  Shape shape(dims);
  Strides strides;
  std::int64_t first = 0;
  const auto values = contents(c, 0);
  if (values) strides = strides_of(dims);
  const Strides whole_strides = strides;
  bool placed = values.has_value();
  AxisSet seen;
  for (std::size_t i = 0; i < *length; ++i) {
    const Result<std::size_t> axis = c.axis(axes.given ? axes.values[i] : static_cast<std::int64_t>(i), dims.size());
    PLIMSOLL_TRY(axis);
    if (seen.test(*axis)) return fail("axis {} is named twice", *axis);
    seen.set(*axis);
    const std::optional<Scalar> step = steps.known ? std::optional(steps.values[i]) : std::nullopt;
    if (step && step->is_integer() && step->integer() == 0) return fail("a step of 0 never ends");
    const Interval bounds = c.symbols().bounds(dims[*axis]);
    const bool usable = starts.known && ends.known && !starts.values[i].is_real() && !ends.values[i].is_real() &&
                        (!steps.given || (step && step->is_integer()));
    if (!usable) {
      shape[*axis] = c.unknown("slice", {0, bounds.high});
      placed = false;
      continue;
    }
    const std::int64_t by = step ? step->integer() : 1;
    const Cut part = cut(c, dims[*axis], starts.values[i], ends.values[i], by);
    shape[*axis] = part.length;
    placed = placed && part.first;
    // Where nothing is taken, positions may lie outside and are never read.
    if (placed && !part.length.is(0)) {
      first += *part.first * whole_strides.step[*axis];
      if (part.length.is(1))
        strides.step[*axis] = 0;
      else
        strides.step[*axis] = whole_strides.step[*axis] * by;
    }
  }
  c.set(0, c.type(0), shape);
  if (placed && small_count(shape.dims())) c.set_value(0, pick(*values, first, strides, shape.dims()));
  return {};
}

}  // namespace plimsoll::network
