#include <algorithm>

#include "network/rules/axes.hpp"
#include "network/rules/folding.hpp"
#include "network/rules/movement.hpp"

namespace plimsoll::network {
namespace {

/// The contents of Gather's result, where data and indices are known.
void fold_gather(InferenceContext& c, std::size_t axis) {
  const auto values = contents(c, 0), indices = contents(c, 1);
  if (!values || !indices) return;
  const auto dims = c.dims(0);
  const std::int64_t extent = dims[axis].value();
  std::int64_t outer = 1, inner = 1;
  for (std::size_t i = 0; i < axis; ++i) outer *= dims[i].value();
  for (std::size_t i = axis + 1; i < dims.size(); ++i) inner *= dims[i].value();
  if (values->empty() || outer * inner * static_cast<std::int64_t>(indices->size()) >
                             static_cast<std::int64_t>(kMaxValueElements))
    return;
  std::vector<Scalar> out;
  for (std::int64_t o = 0; o < outer; ++o)
    for (const Scalar& index : *indices) {
      if (!index.is_integer()) return;
      const std::int64_t at = index.integer() < 0 ? index.integer() + extent : index.integer();
      const auto part = values->subspan(static_cast<std::size_t>((o * extent + at) * inner),
                                        static_cast<std::size_t>(inner));
      out.insert(out.end(), part.begin(), part.end());
    }
  c.set_value(0, out);
}

Status check_indices(const InferenceContext& c, Dim extent) {
  if (!extent.exact() || !c.has_value(1)) return {};
  for (const Scalar& index : c.value(1))
    if (index.is_integer() && (index.integer() < -extent.value() || index.integer() >= extent.value()))
      return fail("index {} is outside an extent of {}", index.integer(), extent.value());
  return {};
}

}  // namespace

Status gather(InferenceContext& c) {
  if (!c.ranked(0)) {
    c.set_unranked(0, c.type(0));
    return {};
  }
  const auto dims = c.dims(0);
  const Result<std::size_t> axis = c.axis(c.integer("axis", 0), dims.size());
  PLIMSOLL_TRY(axis);
  PLIMSOLL_TRY(check_indices(c, dims[*axis]));
  if (!c.ranked(1)) {
    c.set_unranked(0, c.type(0));
    return {};
  }
  Shape shape(dims.first(*axis));
  shape.append(c.dims(1));
  shape.append(dims.subspan(*axis + 1));
  c.set(0, c.type(0), shape);
  if (c.has_value(0) && c.has_value(1)) fold_gather(c, *axis);
  return {};
}

Status gather_elements(InferenceContext& c) {
  if (!c.ranked(1)) {
    c.set_unranked(0, c.type(0));
    return {};
  }
  if (c.ranked(0)) {
    if (c.rank(0) != c.rank(1))
      return fail("data {} and indices {} differ in rank", c.show(c.dims(0)), c.show(c.dims(1)));
    const Result<std::size_t> axis = c.axis(c.integer("axis", 0), c.rank(0));
    PLIMSOLL_TRY(axis);
    PLIMSOLL_TRY(check_indices(c, c.dims(0)[*axis]));
  }
  c.set(0, c.type(0), Shape(c.dims(1)));
  return {};
}

Status gather_nd(InferenceContext& c) {
  if (!c.ranked(0) || !c.ranked(1) || c.rank(1) == 0 || !c.dims(1).back().exact()) {
    c.set_unranked(0, c.type(0));
    return {};
  }
  const auto data = c.dims(0), indices = c.dims(1);
  const auto rank = static_cast<std::int64_t>(data.size());
  const std::int64_t batch = c.integer("batch_dims", 0), depth = indices.back().value();
  if (batch < 0 || batch >= std::min(rank, static_cast<std::int64_t>(indices.size())))
    return fail("batch_dims is {} for data {} and indices {}", batch, c.show(data), c.show(indices));
  if (depth > rank - batch)
    return fail("indices {} name {} axes of data {}", c.show(indices), depth, c.show(data));
  Shape shape(indices.first(indices.size() - 1));
  shape.append(data.subspan(static_cast<std::size_t>(batch + depth)));
  c.set(0, c.type(0), shape);
  return {};
}

/// Scatter, ScatterElements, ScatterND and TensorScatter write into data and change no shape.
Status scatter(InferenceContext& c) {
  if (!c.ranked(0)) {
    c.set_unranked(0, c.type(0));
    return {};
  }
  if (const Attribute* a = c.attribute("axis"); a != nullptr && a->kind == Attribute::Kind::integer)
    PLIMSOLL_TRY(c.axis(a->integer, c.rank(0)));
  c.set(0, c.type(0), Shape(c.dims(0)));
  return {};
}

Status compress(InferenceContext& c) {
  const Attribute* named = c.attribute("axis");
  if (!c.ranked(0)) {
    if (named == nullptr)
      c.set(0, c.type(0), Shape{c.unknown("kept", {})});
    else
      c.set_unranked(0, c.type(0));
    return {};
  }
  const auto dims = c.dims(0);
  Shape shape;
  std::size_t axis = 0;
  std::int64_t high = 0;
  if (named == nullptr) {
    shape.push_back(Dim());
    high = most_elements(c.symbols(), dims);
  } else {
    const Result<std::size_t> found = c.axis(c.integer("axis", 0), dims.size());
    PLIMSOLL_TRY(found);
    axis = *found;
    shape = Shape(dims);
    high = c.symbols().bounds(shape[axis]).high;
  }
  if (const auto condition = c.integers(1)) {
    const auto kept = std::ranges::count_if(*condition, [](std::int64_t b) { return b != 0; });
    shape[axis] = Dim::of(kept);
  } else {
    if (c.ranked(1)) high = std::min(high, most_elements(c.symbols(), c.dims(1)));
    shape[axis] = c.unknown("kept", {0, high});
  }
  c.set(0, c.type(0), shape);
  return {};
}

Status one_hot(InferenceContext& c) {
  if (!c.ranked(0)) {
    c.set_unranked(0, c.type(2));
    return {};
  }
  const Result<std::size_t> axis = c.axis(c.integer("axis", -1), c.rank(0) + 1);
  PLIMSOLL_TRY(axis);
  const auto given = single(c, 1);
  Dim depth;
  if (!given) {
    depth = c.unknown("depth", {});
  } else if (given->is_symbol()) {
    depth = given->dim();
  } else {
    const auto n = whole(*given);
    if (!n || *n < 0) return fail("a depth of {} cannot be", given->real());
    depth = Dim::of(*n);
  }
  const auto dims = c.dims(0);
  Shape shape(dims.first(*axis));
  shape.push_back(depth);
  shape.append(dims.subspan(*axis));
  c.set(0, c.type(2), shape);
  return {};
}

}  // namespace plimsoll::network
