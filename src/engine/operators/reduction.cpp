#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <numeric>

#include <ATen/ops/arange.h>

#include "engine/operators/forms.hpp"

namespace plimsoll::engine {
namespace {

using at::Tensor;

/// Axes as an attribute before operator set 18 (ReduceSum: 13), as an input after; none at all are all axes,
/// or nothing to do. `function` gets a list that is never empty.
template <auto function>
Result<Kernel> reduced(const Preparation& p) {
  const IntegerList axes(p, "axes", 1);
  const bool keep = p.integer("keepdims", 1) != 0, nothing = p.integer("noop_with_empty_axes", 0) != 0;
  return [=](Call& c) {
    const Tensor& x = c.in(0);
    Integers over = axes.read(c);
    if (over.empty()) {
      if (nothing) return c.out(0, x);
      over.resize(static_cast<std::size_t>(x.dim()));
      std::iota(over.begin(), over.end(), 0);
    }
    c.out(0, function(x, over, keep));
  };
}

Tensor sum(const Tensor& x, const Integers& axes, bool keep) {
  return x.sum(axes, keep, x.scalar_type());
}

Tensor mean(const Tensor& x, const Integers& axes, bool keep) {
  if (is_floating(x)) return x.mean(axes, keep);
  return x.to(at::kDouble).mean(axes, keep).to(x.scalar_type());
}

/// ATen multiplies along one axis at a time: the last first, so that the others keep their places.
Tensor product(const Tensor& x, const Integers& axes, bool keep) {
  Integers order = wrapped(axes, x.dim());
  std::ranges::sort(order, std::greater<>());
  Tensor total = x;
  for (const std::int64_t axis : order) total = total.prod(axis, keep, x.scalar_type());
  return total;
}

Tensor norm(const Tensor& x, const Integers& axes, bool keep, int order) {
  if (is_floating(x)) return x.norm(order, axes, keep);
  return x.to(at::kDouble).norm(order, axes, keep).to(x.scalar_type());
}

/// The largest of no elements is the smallest number there is, and the reverse; ATen refuses them.
template <bool largest>
Tensor extreme(const Tensor& x, const Integers& axes, bool keep) {
  if (x.numel() == 0 && is_floating(x))
    return sum(x, axes, keep)
        .fill_(largest ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity());
  return largest ? x.amax(axes, keep) : x.amin(axes, keep);
}

Tensor log_sum_exp(const Tensor& x, const Integers& axes, bool keep) {
  if (is_floating(x)) return x.logsumexp(axes, keep);
  return x.to(at::kDouble).logsumexp(axes, keep).to(x.scalar_type());
}

template <bool largest>
Result<Kernel> prepare_arg(const Preparation& p) {
  return [axis = p.integer("axis", 0), keep = p.integer("keepdims", 1) != 0,
          last = p.integer("select_last_index", 0) != 0](Call& c) {
    const Tensor& x = c.in(0);
    const auto first = [&](const Tensor& t) { return largest ? t.argmax(axis, keep) : t.argmin(axis, keep); };
    c.out(0, last ? first(x.flip({axis})).neg().add(x.size(axis) - 1) : first(x));
  };
}

/// The number of elements is an attribute before operator set 10, then an input.
Result<Kernel> prepare_top_k(const Preparation& p) {
  std::optional<std::int64_t> known;
  if (p.has_attribute("k")) known = p.integer("k", 0);
  if (const auto contents = p.known_integers(1); contents && contents->size() == 1) known = contents->front();
  return [known, axis = p.integer("axis", -1), largest = p.integer("largest", 1) != 0,
          sorted = p.integer("sorted", 1) != 0](Call& c) {
    const std::int64_t k = known ? *known : c.integers(1).at(0);
    auto [values, indices] = c.in(0).topk(k, axis, largest, sorted);
    c.out(0, std::move(values));
    c.out(1, std::move(indices));
  };
}

Result<Kernel> prepare_cum_sum(const Preparation& p) {
  const auto known = p.known_integers(1);
  return
      [known, exclusive = p.integer("exclusive", 0) != 0, reverse = p.integer("reverse", 0) != 0](Call& c) {
        const Tensor& x = c.in(0);
        const std::int64_t axis = known ? known->at(0) : c.integers(1).at(0);
        const Tensor forward = reverse ? x.flip({axis}) : x;
        Tensor total = forward.cumsum(axis, x.scalar_type());
        if (exclusive) total = total.sub(forward);
        c.out(0, reverse ? total.flip({axis}) : total);
      };
}

constexpr auto kReductionRows = std::to_array<OperatorRow>({
    {"ArgMax", prepare_arg<true>},
    {"ArgMin", prepare_arg<false>},
    {"CumSum", prepare_cum_sum, "", kShapes},
    {"ReduceL1", reduced<[](const Tensor& x, const Integers& a, bool k) { return norm(x, a, k, 1); }>},
    {"ReduceL2", reduced<[](const Tensor& x, const Integers& a, bool k) { return norm(x, a, k, 2); }>},
    {"ReduceLogSum", reduced<[](const Tensor& x, const Integers& a, bool k) { return sum(x, a, k).log(); }>},
    {"ReduceLogSumExp", reduced<log_sum_exp>},
    {"ReduceMax", reduced<extreme<true>>, "", kShapes},
    {"ReduceMean", reduced<mean>, "", kShapes},
    {"ReduceMin", reduced<extreme<false>>, "", kShapes},
    {"ReduceProd", reduced<product>, "", kShapes},
    {"ReduceSum", reduced<sum>, "", kShapes},
    {"ReduceSumSquare",
     reduced<[](const Tensor& x, const Integers& a, bool k) { return sum(x.mul(x), a, k); }>},
    {"TopK", prepare_top_k},
});

}  // namespace

std::span<const OperatorRow> reduction_rows() {
  return kReductionRows;
}

}  // namespace plimsoll::engine
