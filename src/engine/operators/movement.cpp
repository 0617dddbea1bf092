#include <algorithm>
#include <array>
#include <numeric>

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/where.h>

#include "engine/operators/forms.hpp"

namespace plimsoll::engine {
namespace {

using at::Tensor;

/// Zero stands for the input's own extent, unless the graph allows empty extents.
Result<Kernel> prepare_reshape(const Preparation& p) {
  return [shape = IntegerList(p, "shape", 1), literal = p.integer("allowzero", 0) != 0](Call& c) {
    const Tensor& x = c.in(0);
    Integers wanted = shape.read(c);
    for (std::size_t i = 0; i < wanted.size() && !literal; ++i)
      if (wanted[i] == 0) wanted[i] = x.size(static_cast<std::int64_t>(i));
    c.out(0, x.reshape(wanted));
  };
}

Result<Kernel> prepare_transpose(const Preparation& p) {
  return [order = p.integers("perm")](Call& c) {
    const Tensor& x = c.in(0);
    if (!order.empty()) return c.out(0, x.permute(order));
    Integers reversed(static_cast<std::size_t>(x.dim()));
    std::iota(reversed.rbegin(), reversed.rend(), 0);
    c.out(0, x.permute(reversed));
  };
}

Result<Kernel> prepare_flatten(const Preparation& p) {
  return [axis = p.integer("axis", 1)](Call& c) {
    const Tensor& x = c.in(0);
    const std::int64_t from = wrapped(axis, x.dim());
    if (from == 1 && x.dim() >= 2) return c.out(0, x.flatten(1));
    const auto rows = x.sizes().slice(0, static_cast<std::size_t>(from));
    const auto columns = x.sizes().slice(static_cast<std::size_t>(from));
    const auto product = [](at::IntArrayRef extents) {
      return std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, std::multiplies<>());
    };
    c.out(0, x.reshape({product(rows), product(columns)}));
  };
}

Result<Kernel> prepare_squeeze(const Preparation& p) {
  return [axes = IntegerList(p, "axes", 1)](Call& c) {
    Tensor x = c.in(0);
    if (!axes.given()) return c.out(0, x.squeeze());
    Integers order = wrapped(axes.read(c), x.dim());
    std::ranges::sort(order, std::greater<>());
    for (const std::int64_t axis : order) {
      TORCH_CHECK(x.size(axis) == 1, "extent ", x.size(axis), " of axis ", axis, " cannot be squeezed");
      x = x.squeeze(axis);
    }
    c.out(0, std::move(x));
  };
}

Result<Kernel> prepare_unsqueeze(const Preparation& p) {
  return [axes = IntegerList(p, "axes", 1)](Call& c) {
    Tensor x = c.in(0);
    Integers order = axes.read(c);
    order = wrapped(order, x.dim() + static_cast<std::int64_t>(order.size()));
    std::ranges::sort(order);
    for (const std::int64_t axis : order) x = x.unsqueeze(axis);
    c.out(0, std::move(x));
  };
}

/// Both ways: an extent of 1 asked for keeps the input's.
Result<Kernel> prepare_expand(const Preparation& p) {
  return [shape = IntegerList(p, "shape", 1)](Call& c) {
    const Tensor& x = c.in(0);
    Integers wanted = shape.read(c);
    const auto rank = static_cast<std::size_t>(x.dim());
    if (wanted.size() < rank) wanted.insert(wanted.begin(), rank - wanted.size(), 1);
    for (std::size_t i = 0; i < rank; ++i) {
      std::int64_t& extent = wanted[wanted.size() - rank + i];
      if (extent == 1) extent = x.size(static_cast<std::int64_t>(i));
    }
    c.out(0, x.expand(wanted));
  };
}

Result<Kernel> prepare_concat(const Preparation& p) {
  return [axis = p.integer("axis", 1)](Call& c) {
    std::vector<Tensor> parts;
    parts.reserve(c.inputs());
    for (std::size_t i = 0; i < c.inputs(); ++i) parts.push_back(c.in(i));
    c.out(0, at::cat(parts, axis));
  };
}

Result<Kernel> prepare_split(const Preparation& p) {
  const auto parts = std::max<std::int64_t>(1, static_cast<std::int64_t>(p.outputs()));
  return [parts, sizes = IntegerList(p, "split", 1), axis = p.integer("axis", 0)](Call& c) {
    const Tensor& x = c.in(0);
    Integers each = sizes.read(c);
    if (each.empty()) {
      // Where the extent does not divide, the last part is smaller.
      const std::int64_t extent = x.size(axis), size = (extent + parts - 1) / parts;
      for (std::int64_t i = 0; i < parts; ++i)
        each.push_back(std::clamp<std::int64_t>(extent - i * size, 0, size));
    }
    std::vector<Tensor> views = x.split_with_sizes(each, axis);
    for (std::size_t i = 0; i < views.size(); ++i) c.out(i, std::move(views[i]));
  };
}

/// ATen's slices only go forward: the same elements are taken forward, then turned round.
Tensor sliced_backward(const Tensor& x, std::int64_t axis, std::int64_t start, std::int64_t end,
                       std::int64_t step) {
  const std::int64_t extent = x.size(axis);
  const auto bound = [extent](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + extent : at, -1, extent - 1);
  };
  start = bound(start);
  end = end < -extent ? -1 : bound(end);
  const std::int64_t elements = start > end ? (start - end - step - 1) / -step : 0;
  if (elements == 0) return x.slice(axis, 0, 0);
  return x.slice(axis, start + (elements - 1) * step, start + 1, -step).flip({axis});
}

Result<Kernel> prepare_slice(const Preparation& p) {
  const IntegerList starts(p, "starts", 1), ends(p, "ends", 2), axes(p, "axes", 3), steps(p, "steps", 4);
  return [=](Call& c) {
    Tensor x = c.in(0);
    const Integers from = starts.read(c), to = ends.read(c), by = steps.read(c);
    Integers along = axes.read(c);
    if (along.empty()) {
      along.resize(from.size());
      std::iota(along.begin(), along.end(), 0);
    }
    TORCH_CHECK(
        from.size() == along.size() && to.size() == along.size() && (by.empty() || by.size() == along.size()),
        "starts, ends, axes and steps of a slice differ in number");
    for (std::size_t i = 0; i < along.size(); ++i) {
      const std::int64_t step = by.empty() ? 1 : by[i], axis = wrapped(along[i], x.dim());
      TORCH_CHECK(step != 0, "a slice with a step of zero");
      x = step > 0 ? x.slice(axis, from[i], to[i], step) : sliced_backward(x, axis, from[i], to[i], step);
    }
    c.out(0, std::move(x));
  };
}

Result<Kernel> prepare_tile(const Preparation& p) {
  if (p.opset() < 6) return fail("Tile of operator sets before 6 cannot be executed");
  return [repeats = IntegerList(p, "repeats", 1)](Call& c) { c.out(0, c.in(0).repeat(repeats.read(c))); };
}

Result<Kernel> prepare_trilu(const Preparation& p) {
  const IntegerList diagonal(p, "k", 1);
  return [diagonal, upper = p.integer("upper", 1) != 0](Call& c) {
    const std::int64_t k = diagonal.given() ? diagonal.read(c).at(0) : 0;
    c.out(0, upper ? c.in(0).triu(k) : c.in(0).tril(k));
  };
}

/// The first `length` elements of each sequence come in the opposite order.
Result<Kernel> prepare_reverse_sequence(const Preparation& p) {
  return [batch = p.integer("batch_axis", 1), time = p.integer("time_axis", 0)](Call& c) {
    const Tensor& x = c.in(0);
    const auto along = [&x](const Tensor& t, std::int64_t axis) {
      Integers shape(static_cast<std::size_t>(x.dim()), 1);
      shape.at(static_cast<std::size_t>(axis)) = t.numel();
      return t.reshape(shape);
    };
    const Tensor lengths = along(c.in(1).to(at::kLong), batch);
    const Tensor steps = along(at::arange(x.size(time), lengths.options()), time);
    const Tensor from = at::where(steps.lt(lengths), lengths.sub(steps).sub(1), steps);
    c.out(0, x.gather(time, from.expand(x.sizes())));
  };
}

Result<Kernel> prepare_identity(const Preparation&) {
  return [](Call& c) {
    if (c.is_sequence(0)) return c.out_sequence(0, c.sequence(0));
    c.out(0, c.in(0));
  };
}

constexpr auto kMovementRows = std::to_array<OperatorRow>({
    {"Concat", prepare_concat, "", kShapes},
    {"Expand", prepare_expand, "", kShapes},
    {"Flatten", prepare_flatten, "", kShapes},
    {"Identity", prepare_identity, "", kShapes},
    {"Reshape", prepare_reshape, "", kShapes},
    {"ReverseSequence", prepare_reverse_sequence},
    {"Slice", prepare_slice, "", kShapes},
    {"Split", prepare_split, "", kShapes},
    {"Squeeze", prepare_squeeze, "", kShapes},
    {"Tile", prepare_tile, "", kShapes},
    {"Transpose", prepare_transpose, "", kShapes},
    {"Trilu", prepare_trilu, "", kShapes},
    {"Unsqueeze", prepare_unsqueeze, "", kShapes},
});

}  // namespace

std::span<const OperatorRow> movement_rows() {
  return kMovementRows;
}

}  // namespace plimsoll::engine
