#include <algorithm>
#include <array>
#include <numeric>
#include <string>

#include <ATen/core/List.h>
#include <ATen/ops/_unique2.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/index.h>
#include <ATen/ops/index_put.h>
#include <ATen/ops/scatter_reduce.h>
#include <ATen/ops/unique_dim.h>
#include <ATen/ops/where.h>

#include "engine/operators/forms.hpp"

namespace plimsoll::engine {
namespace {

using at::Tensor;
using IndexList = c10::List<c10::optional<Tensor>>;

Tensor as_index(const Tensor& indices) {
  return indices.scalar_type() == at::kLong ? indices : indices.to(at::kLong);
}

/// gather and scatter take no negative indices.
Tensor counted_from_start(const Tensor& indices, std::int64_t extent) {
  const Tensor index = as_index(indices);
  return at::where(index.lt(0), index.add(extent), index);
}

/// A learned table looked up by row: PyTorch's embedding. It takes no negative indices; only the host can be
/// asked for them without waiting, and a device refuses them.
bool is_embedding(const Preparation& p) {
  if (p.integer("axis", 0) != 0 || p.rank(0) != 2 || !network::is_float(p.type(0))) return false;
  return p.network().tensor(p.network().inputs(p.op())[0]).role == network::Role::parameter;
}

void look_up(Call& c) {
  const Tensor& table = c.in(0);
  Tensor rows = as_index(c.in(1));
  if (rows.is_cpu() && rows.numel() > 0 && rows.min().item<std::int64_t>() < 0)
    rows = counted_from_start(rows, table.size(0));
  c.out(0, at::embedding(table, rows));
}

/// One index of the host is a view; several are ATen's indexing, which counts negative ones from the end.
Result<Kernel> prepare_gather(const Preparation& p) {
  const std::int64_t axis = p.integer("axis", 0);
  const auto known = p.known_integers(1);
  if (known && known->size() == 1 && p.rank(1) == 0)
    return [axis, index = known->front()](Call& c) { c.out(0, c.in(0).select(axis, index)); };
  if (is_embedding(p)) return look_up;
  return [axis](Call& c) {
    const Tensor& x = c.in(0);
    const Tensor& at = c.where_it_lies(1);
    if (at.dim() == 0 && at.is_cpu()) return c.out(0, x.select(axis, at.item<std::int64_t>()));
    IndexList indices;
    for (std::int64_t i = 0; i < wrapped(axis, x.dim()); ++i) indices.push_back(c10::nullopt);
    indices.push_back(as_index(c.in(1)));
    c.out(0, at::index(x, indices));
  };
}

Result<Kernel> prepare_gather_elements(const Preparation& p) {
  return [axis = p.integer("axis", 0)](Call& c) {
    c.out(0, c.in(0).gather(axis, counted_from_start(c.in(1), c.in(0).size(axis))));
  };
}

/// The rows of `tuples` as indices of x's axes from `batch` on; those before count along.
IndexList tuple_indices(const Tensor& tuples, std::int64_t batch) {
  IndexList indices;
  const std::int64_t rank = tuples.dim() - 1;
  for (std::int64_t axis = 0; axis < batch; ++axis) {
    Integers shape(static_cast<std::size_t>(rank), 1);
    shape.at(static_cast<std::size_t>(axis)) = tuples.size(axis);
    indices.push_back(at::arange(tuples.size(axis), tuples.options()).reshape(shape));
  }
  for (std::int64_t i = 0; i < tuples.size(-1); ++i) indices.push_back(tuples.select(-1, i));
  return indices;
}

Result<Kernel> prepare_gather_nd(const Preparation& p) {
  return [batch = p.integer("batch_dims", 0)](Call& c) {
    c.out(0, at::index(c.in(0), tuple_indices(as_index(c.in(1)), batch)));
  };
}

/// How ATen calls a reduction; empty: the last one written stays.
Result<std::string> reduction_of(const Preparation& p) {
  const std::string_view asked = p.text("reduction", "none");
  if (asked == "none") return "";
  if (asked == "add") return "sum";
  if (asked == "mul") return "prod";
  if (asked == "max") return "amax";
  if (asked == "min") return "amin";
  return fail("reduction {} is not known", asked);
}

Tensor scattered(const Tensor& x, std::int64_t axis, const Tensor& index, const Tensor& updates,
                 const std::string& reduction) {
  if (reduction.empty()) return x.scatter(axis, index, updates);
  if (reduction == "sum") return x.scatter_add(axis, index, updates);
  return at::scatter_reduce(x, axis, index, updates, reduction);
}

Result<Kernel> prepare_scatter_elements(const Preparation& p) {
  Result<std::string> reduction = reduction_of(p);
  PLIMSOLL_TRY(reduction);
  return [axis = p.integer("axis", 0), reduction = *reduction](Call& c) {
    const Tensor& x = c.in(0);
    c.out(0, scattered(x, axis, counted_from_start(c.in(1), x.size(axis)), c.in(2), reduction));
  };
}

/// Each tuple as one number that counts through the axes it names.
Tensor flat_indices(const Tensor& tuples, at::IntArrayRef sizes) {
  TORCH_CHECK(tuples.size(-1) > 0 && tuples.size(-1) <= static_cast<std::int64_t>(sizes.size()),
              "indices of more axes than there are");
  Tensor flat;
  for (std::int64_t i = 0; i < tuples.size(-1); ++i) {
    const std::int64_t extent = sizes[static_cast<std::size_t>(i)];
    const Tensor index = counted_from_start(tuples.select(-1, i), extent);
    flat = flat.defined() ? flat.mul(extent).add(index) : index;
  }
  return flat.reshape({-1});
}

Result<Kernel> prepare_scatter_nd(const Preparation& p) {
  Result<std::string> reduction = reduction_of(p);
  PLIMSOLL_TRY(reduction);
  return [reduction = *reduction](Call& c) {
    const Tensor& x = c.in(0);
    const Tensor tuples = as_index(c.in(1));
    if (reduction.empty() || reduction == "sum")
      return c.out(0, at::index_put(x, tuple_indices(tuples, 0), c.in(2), reduction == "sum"));
    const auto leading = static_cast<std::size_t>(tuples.size(-1));
    const at::IntArrayRef rest = x.sizes().slice(leading);
    const std::int64_t width =
        std::accumulate(rest.begin(), rest.end(), std::int64_t{1}, std::multiplies<>());
    const Tensor index = flat_indices(tuples, x.sizes()).unsqueeze(1).expand({-1, width});
    c.out(0, scattered(x.reshape({-1, width}), 0, index, c.in(2).reshape({-1, width}), reduction)
                 .reshape(x.sizes()));
  };
}

Result<Kernel> prepare_compress(const Preparation& p) {
  std::optional<std::int64_t> axis;
  if (p.has_attribute("axis")) axis = p.integer("axis", 0);
  return [axis](Call& c) {
    const Tensor x = axis ? c.in(0) : c.in(0).flatten();
    c.out(0, x.index_select(axis.value_or(0), c.in(1).nonzero().squeeze(1)));
  };
}

Result<Kernel> prepare_one_hot(const Preparation& p) {
  const auto known = p.known_integers(1);
  return [known, axis = p.integer("axis", -1)](Call& c) {
    const std::int64_t depth = known ? known->at(0) : c.integers(1).at(0);
    const Tensor index = counted_from_start(c.in(0), depth);
    const std::int64_t at = wrapped(axis, index.dim() + 1);
    Integers shape(static_cast<std::size_t>(index.dim() + 1), 1);
    shape.at(static_cast<std::size_t>(at)) = depth;
    const Tensor classes = at::arange(depth, index.options()).reshape(shape);
    const Tensor& values = c.in(2);
    c.out(0, at::where(index.unsqueeze(at).eq(classes), values.select(0, 1), values.select(0, 0)));
  };
}

struct Found {
  Tensor values, inverse, counts;
};

Found unique_of(const Tensor& x, std::optional<std::int64_t> axis) {
  auto [values, inverse, counts] =
      axis ? at::unique_dim(x, *axis, true, true, true) : at::_unique2(x, true, true, true);
  return {std::move(values), inverse.reshape({-1}), std::move(counts)};
}

/// ATen sorts; where the order of first appearance is asked for, that is sorted by.
Result<Kernel> prepare_unique(const Preparation& p) {
  std::optional<std::int64_t> axis;
  if (p.has_attribute("axis")) axis = p.integer("axis", 0);
  return [axis, sorted = p.integer("sorted", 1) != 0](Call& c) {
    const Tensor& x = c.in(0);
    Found found = unique_of(x, axis);
    const Tensor positions = at::arange(found.inverse.numel(), found.inverse.options());
    const Tensor none =
        at::arange(found.counts.numel(), found.inverse.options()).fill_(found.inverse.numel());
    Tensor first = at::scatter_reduce(none, 0, found.inverse, positions, "amin");
    if (!sorted) {
      const Tensor order = first.argsort();
      const Tensor rank = order.argsort();
      const std::int64_t along = axis.value_or(0);
      found = {found.values.index_select(along, order), rank.index_select(0, found.inverse),
               found.counts.index_select(0, order)};
      first = first.index_select(0, order);
    }
    c.out(0, std::move(found.values));
    c.out(1, std::move(first));
    c.out(2, std::move(found.inverse));
    c.out(3, std::move(found.counts));
  };
}

constexpr auto kSelectionRows = std::to_array<OperatorRow>({
    {"Compress", prepare_compress},
    {"Gather", prepare_gather, "", kShapes},
    {"GatherElements", prepare_gather_elements, "", kShapes},
    {"GatherND", prepare_gather_nd, "", kShapes},
    {"NonZero", unary<[](const Tensor& x) { return x.nonzero().t(); }>},
    {"OneHot", prepare_one_hot},
    {"Scatter", prepare_scatter_elements, "", kShapes},
    {"ScatterElements", prepare_scatter_elements, "", kShapes},
    {"ScatterND", prepare_scatter_nd, "", kShapes},
    {"Unique", prepare_unique},
});

}  // namespace

std::span<const OperatorRow> selection_rows() {
  return kSelectionRows;
}

}  // namespace plimsoll::engine
