#include <algorithm>

#include "network/inference.hpp"
#include "network/operators.hpp"
#include "network/rules/axes.hpp"
#include "network/rules/folding.hpp"

namespace plimsoll::network {
namespace {

/// The shape after reducing the axes: extents of 1, or none, in their place.
Shape reduced(std::span<const Dim> dims, const AxisSet& axes, bool keep) {
  Shape out;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (!axes.test(i))
      out.push_back(dims[i]);
    else if (keep)
      out.push_back(Dim::of(1));
  }
  return out;
}

void fold_reduced(InferenceContext& c, BinaryFold fold, const AxisSet& axes) {
  const auto values = contents(c, 0);
  if (!values) return;
  const auto dims = c.dims(0);
  // Where each element of the input goes in the output: reduced axes take no step.
  const Shape kept = reduced(dims, axes, true);
  Strides to = strides_of(kept.dims());
  for (std::size_t i = 0; i < dims.size(); ++i)
    if (axes.test(i)) to.step[i] = 0;
  const auto n = small_count(kept.dims());
  if (!n || values->empty()) return;
  std::vector<Folded> totals(*n);
  std::int64_t index[kMaxRank] = {};
  std::int64_t at = 0;
  for (const Scalar& x : *values) {
    Folded& total = totals[static_cast<std::size_t>(at)];
    total = total ? fold(c.symbols(), c.type(0), *total, x) : Folded(x);
    if (!total) return;
    for (std::size_t axis = dims.size(); axis-- > 0;) {
      at += to.step[axis];
      if (++index[axis] < dims[axis].value()) break;
      at -= to.step[axis] * dims[axis].value();
      index[axis] = 0;
    }
  }
  std::vector<Scalar> out;
  out.reserve(*n);
  for (const Folded& total : totals) out.push_back(*total);
  c.set_value(0, out);
}

/// Which axes is decided at run time.
void reduce_unknown_axes(InferenceContext& c, const IntegerList& axes, bool keep) {
  const auto dims = c.dims(0);
  if (keep) {
    Shape out;
    for (const Dim d : dims) {
      const Interval b = c.symbols().bounds(d);
      out.push_back(d.is(1) ? d
                            : c.unknown("extent", {std::min<std::int64_t>(1, b.low),
                                                   std::max<std::int64_t>(1, b.high)}));
    }
    c.set(0, c.type(0), out);
  } else if (axes.length && *axes.length > 0 && *axes.length <= dims.size()) {
    c.set(
        0, c.type(0),
        unknown_shape(c, static_cast<std::int64_t>(dims.size() - *axes.length), highest(c.symbols(), dims)));
  } else {
    c.set_unranked(0, c.type(0));
  }
}

Status reduce_with(InferenceContext& c, BinaryFold fold) {
  if (!c.ranked(0)) {
    c.set_unranked(0, c.type(0));
    return {};
  }
  const bool keep = c.integer("keepdims", 1) != 0;
  const IntegerList list = integer_list(c, "axes", 1);
  if (list.given && !list.known && list.length != 0) {
    reduce_unknown_axes(c, list, keep);
    return {};
  }
  AxisSet axes;
  if (!list.values.empty()) {
    // Naming an axis twice is refused by some runtimes and harmless in others.
    for (const std::int64_t a : list.values) {
      // A scalar has no axis, yet frameworks let one be named.
      if (c.rank(0) == 0 && (a == 0 || a == -1)) continue;
      const Result<std::size_t> axis = c.axis(a, c.rank(0));
      PLIMSOLL_TRY(axis);
      axes.set(*axis);
    }
  } else if (c.integer("noop_with_empty_axes", 0) == 0) {
    axes.set();
  }
  c.set(0, c.type(0), reduced(c.dims(0), axes, keep));
  if (fold != nullptr && c.has_value(0)) fold_reduced(c, fold, axes);
  return {};
}
template <BinaryFold F>
Status reduce(InferenceContext& c) {
  return reduce_with(c, F);
}

Status arg_extreme(InferenceContext& c) {
  if (!c.ranked(0)) {
    c.set_unranked(0, DataType::int64);
    return {};
  }
  const std::int64_t named = c.integer("axis", 0);
  AxisSet axes;
  if (c.rank(0) > 0 || (named != 0 && named != -1)) {
    const Result<std::size_t> axis = c.axis(named, c.rank(0));
    PLIMSOLL_TRY(axis);
    axes.set(*axis);
  }
  c.set(0, DataType::int64, reduced(c.dims(0), axes, c.integer("keepdims", 1) != 0));
  return {};
}

Status cumulative(InferenceContext& c) {
  if (!c.ranked(0)) {
    c.set_unranked(0, c.type(0));
    return {};
  }
  if (const auto named = single(c, 1); named && named->is_integer() && c.rank(0) > 0)
    PLIMSOLL_TRY(c.axis(named->integer(), c.rank(0)));
  c.set(0, c.type(0), Shape(c.dims(0)));
  return {};
}

/// How many TopK takes from an extent; an attribute up to opset 9, an input after.
Result<Dim> top_k_count(InferenceContext& c, Dim extent) {
  const std::int64_t high = c.symbols().bounds(extent).high;
  std::optional<Scalar> k;
  if (const Attribute* a = c.attribute("k"); a != nullptr && a->kind == Attribute::Kind::integer)
    k = Scalar::integer(a->integer);
  else if (c.has(1))
    k = single(c, 1);
  else
    return fail("says nowhere how many to take (k)");
  if (!k || k->is_real()) return c.unknown("k", {0, high});
  const Dim n = k->dim();
  if (!n.valid()) return fail("cannot take the top {}", k->integer());
  if (n.exact() && high != kUnbounded && n.value() > high)
    return fail("cannot take the top {} of an extent of at most {}", n.value(), high);
  // What runs has k within the extent: the tighter of the two bounds holds.
  return n.symbolic() && c.symbols().bounds(n).high > high ? c.symbols().minimum(n, extent) : n;
}

Status top_k(InferenceContext& c) {
  if (!c.ranked(0)) {
    c.set_unranked(0, c.type(0));
    c.set_unranked(1, DataType::int64);
    return {};
  }
  const Result<std::size_t> axis = c.axis(c.integer("axis", -1), c.rank(0));
  PLIMSOLL_TRY(axis);
  Shape shape(c.dims(0));
  const Result<Dim> k = top_k_count(c, shape[*axis]);
  PLIMSOLL_TRY(k);
  shape[*axis] = *k;
  c.set(0, c.type(0), shape);
  c.set(1, DataType::int64, shape);
  return {};
}

constexpr OperatorInfo kReductionOperators[] = {
    {"ArgMax", 1, 1, 1, arg_extreme},
    {"ArgMin", 1, 1, 1, arg_extreme},
    {"CumProd", 2, 2, 1, cumulative},
    {"CumSum", 2, 2, 1, cumulative},
    {"ReduceL1", 1, 2, 1, reduce<nullptr>},
    {"ReduceL2", 1, 2, 1, reduce<nullptr>},
    {"ReduceLogSum", 1, 2, 1, reduce<nullptr>},
    {"ReduceLogSumExp", 1, 2, 1, reduce<nullptr>},
    {"ReduceMax", 1, 2, 1, reduce<fold_maximum>},
    {"ReduceMean", 1, 2, 1, reduce<nullptr>},
    {"ReduceMin", 1, 2, 1, reduce<fold_minimum>},
    {"ReduceProd", 1, 2, 1, reduce<fold_multiply>},
    {"ReduceSum", 1, 2, 1, reduce<fold_add>},
    {"ReduceSumSquare", 1, 2, 1, reduce<nullptr>},
    {"TopK", 1, 2, 2, top_k},
};

}  // namespace

std::span<const OperatorInfo> reduction_operators() {
  return kReductionOperators;
}

}  // namespace plimsoll::network
