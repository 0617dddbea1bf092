#include <algorithm>
#include <numeric>

#include "network/rules/axes.hpp"
#include "network/rules/folding.hpp"
#include "network/rules/movement.hpp"

namespace plimsoll::network {
namespace {

/// Extents taken out of a product until what is left can be divided: equal symbols cancel, exact numbers
/// divide, and the rest is left to the arithmetic of symbols.
Dim quotient(Symbols& symbols, std::span<const Dim> numerator, std::span<const Dim> denominator) {
  Shape above(numerator);
  Dim below = Dim::of(1);
  std::int64_t number_below = 1;
  for (const Dim d : denominator) {
    const auto held = above.dims();
    const auto same = std::ranges::find(held, d);
    if (same != held.end()) {
      above[static_cast<std::size_t>(same - held.begin())] = Dim::of(1);
    } else if (d.symbolic()) {
      below = symbols.times(below, d);
    } else if (__builtin_mul_overflow(number_below, d.value(), &number_below)) {
      return Dim::invalid();
    }
  }
  if (number_below == 0) return Dim::invalid();
  // What divides one of the extents exactly is divided there: 4·n over 4 is n again.
  Dim product = Dim::of(1);
  for (const Dim d : above.dims()) {
    Dim factor = d;
    if (d.exact() && d.value() > 0) {
      const std::int64_t common = std::gcd(d.value(), number_below);
      number_below /= common;
      factor = Dim::of(d.value() / common);
    }
    product = symbols.times(product, factor);
  }
  return symbols.divide(product, symbols.times(below, Dim::of(number_below)));
}

/// What -1 stands for, beside the other extents of the target.
Result<Dim> remaining(InferenceContext& c, std::span<const Dim> others) {
  const auto dims = c.dims(0);
  const Dim have = c.count(dims), named = c.count(others);
  if (named.is(0)) {
    if (have.exact() && !have.is(0))
      return fail("cannot reshape {} to a shape with an extent of 0", c.show(dims));
    return Dim::of(0);
  }
  if (have.exact() && named.exact()) {
    if (have.value() % named.value() != 0)
      return fail("cannot reshape {}: its {} elements do not divide by {}", c.show(dims), have.value(),
                  named.value());
    return Dim::of(have.value() / named.value());
  }
  return quotient(c.symbols(), dims, others);
}

Status check_counts(InferenceContext& c, const Shape& shape) {
  const Dim have = c.count(c.dims(0)), want = c.count(shape.dims());
  if (!have.valid() || !want.valid()) return {};  // refused where the shape is stored
  const Interval a = c.symbols().bounds(have), b = c.symbols().bounds(want);
  if (a.high < b.low || b.high < a.low)
    return fail("cannot reshape {} to {}: {} elements against {}", c.show(c.dims(0)), c.show(shape.dims()),
                c.symbols().text(have), c.symbols().text(want));
  return {};
}

/// One element of the target as an extent; nullopt for -1.
Result<std::optional<Dim>> target_extent(InferenceContext& c, const Scalar& s, std::size_t position,
                                         bool allow_zero) {
  if (s.is_integer() && s.integer() == -1) return std::nullopt;
  if (s.is_integer() && s.integer() == 0 && !allow_zero) {
    if (!c.ranked(0)) return c.unknown("extent", {});
    if (position >= c.rank(0))
      return fail("0 at position {} of the target copies an extent that {} does not have", position,
                  c.show(c.dims(0)));
    return c.dims(0)[position];
  }
  const Dim d = s.dim();
  if (!d.valid())
    return fail("cannot reshape to an extent of {}",
                s.is_real() ? fmt::format("{}", s.real()) : fmt::format("{}", s.integer()));
  return d;
}

/// Sets an output of the same elements under another shape, with its contents.
void set_reshaped(InferenceContext& c, const Shape& shape) {
  c.set(0, c.type(0), shape);
  if (const auto values = contents(c, 0); values && small_count(shape.dims()) == values->size())
    c.set_value(0, *values);
}

Status reshape_to(InferenceContext& c, std::span<const Scalar> target) {
  if (target.size() > kMaxRank) return fail("a rank over {} is not supported", kMaxRank);
  const bool allow_zero = c.integer("allowzero", 0) != 0;
  Shape shape, others;
  std::optional<std::size_t> open;
  for (std::size_t i = 0; i < target.size(); ++i) {
    const auto extent = target_extent(c, target[i], i, allow_zero);
    PLIMSOLL_TRY(extent);
    if (!*extent) {
      if (open) return fail("the target has more than one -1");
      open = i;
      shape.push_back(Dim::of(1));
      continue;
    }
    shape.push_back(**extent);
    others.push_back(**extent);
  }
  if (!c.ranked(0)) {
    if (open) shape[*open] = c.unknown("extent", {});
  } else if (open) {
    const Result<Dim> rest = remaining(c, others.dims());
    PLIMSOLL_TRY(rest);
    shape[*open] = *rest;
  } else {
    PLIMSOLL_TRY(check_counts(c, shape));
  }
  set_reshaped(c, shape);
  return {};
}

}  // namespace

Status reshape(InferenceContext& c) {
  if (c.has_value(1)) return reshape_to(c, c.value(1));
  if (!c.has(1)) {  // the attribute of opset 1
    std::vector<Scalar> target;
    for (const std::int64_t n : c.integers("shape")) target.push_back(Scalar::integer(n));
    return reshape_to(c, target);
  }
  const auto length = length_of(c, 1);
  if (!length) {
    c.set_unranked(0, c.type(0));
  } else if (!c.ranked(0)) {
    c.set(0, c.type(0), unknown_shape(c, *length, kUnbounded));
  } else if (*length == 1) {
    c.set(0, c.type(0), Shape{c.count(c.dims(0))});
  } else {
    // No extent exceeds the number of elements, unless there are none of them.
    const std::int64_t most = most_elements(c.symbols(), c.dims(0));
    c.set(0, c.type(0), unknown_shape(c, *length, most == 0 ? kUnbounded : most));
  }
  return {};
}

Status flatten(InferenceContext& c) {
  if (!c.ranked(0)) {
    c.set(0, c.type(0), unknown_shape(c, 2, kUnbounded));
    return {};
  }
  const auto dims = c.dims(0);
  const auto rank = static_cast<std::int64_t>(dims.size());
  std::int64_t axis = c.integer("axis", 1);
  if (axis < -rank || axis > rank) return fail("axis {} is outside a shape of rank {}", axis, rank);
  if (axis < 0) axis += rank;
  const auto before = static_cast<std::size_t>(axis);
  set_reshaped(c, Shape{c.count(dims.first(before)), c.count(dims.subspan(before))});
  return {};
}

Status squeeze(InferenceContext& c) {
  if (!c.ranked(0)) {
    c.set_unranked(0, c.type(0));
    return {};
  }
  const auto dims = c.dims(0);
  const IntegerList list = integer_list(c, "axes", 1);
  if (list.given && !list.known) {
    if (list.length && *list.length <= dims.size())
      c.set(0, c.type(0),
            unknown_shape(c, static_cast<std::int64_t>(dims.size() - *list.length),
                          highest(c.symbols(), dims)));
    else
      c.set_unranked(0, c.type(0));
    return {};
  }
  Shape shape;
  if (!list.given) {
    for (const Dim d : dims) {
      const Interval b = c.symbols().bounds(d);
      if (d.symbolic() && b.low <= 1 && b.high >= 1) {  // it might be 1: the rank is not known
        c.set_unranked(0, c.type(0));
        return {};
      }
      if (!d.is(1)) shape.push_back(d);
    }
  } else {
    const Result<AxisSet> axes = axis_set(list.values, dims.size());
    PLIMSOLL_TRY(axes);
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (!axes->test(i))
        shape.push_back(dims[i]);
      else if (dims[i].exact() && !dims[i].is(1))
        return fail("axis {} of {} has an extent of {}: only 1 can be squeezed", i, c.show(dims),
                    dims[i].value());
    }
  }
  set_reshaped(c, shape);
  return {};
}

Status unsqueeze(InferenceContext& c) {
  const IntegerList list = integer_list(c, "axes", 1);
  if (!c.ranked(0) || !list.length) {
    c.set_unranked(0, c.type(0));
    return {};
  }
  const auto dims = c.dims(0);
  if (*list.length > kMaxRank || dims.size() + *list.length > kMaxRank)
    return fail("a rank over {} is not supported", kMaxRank);
  const std::size_t rank = dims.size() + *list.length;
  if (!list.known) {
    const std::int64_t high = std::max<std::int64_t>(1, highest(c.symbols(), dims));
    c.set(0, c.type(0), unknown_shape(c, static_cast<std::int64_t>(rank), high));
    return {};
  }
  const Result<AxisSet> axes = axis_set(list.values, rank);
  PLIMSOLL_TRY(axes);
  Shape shape;
  std::size_t next = 0;
  for (std::size_t i = 0; i < rank; ++i) shape.push_back(axes->test(i) ? Dim::of(1) : dims[next++]);
  set_reshaped(c, shape);
  return {};
}

}  // namespace plimsoll::network
