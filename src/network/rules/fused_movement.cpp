#include <array>
#include <optional>

#include "network/rules/extents.hpp"
#include "network/rules/fused.hpp"

namespace plimsoll::network {

Status fused_remove_padding(InferenceContext& c) {
  const Result<Shape> x = shape_of_rank(c, 0, 3, "the input");
  PLIMSOLL_TRY(x);
  Symbols& s = c.symbols();
  c.set(0, c.type(0), {c.unknown("tokens", {0, s.bounds(s.times((*x)[0], (*x)[1])).high}), (*x)[2]});
  c.set(1, c.type(1), {(*x)[0], (*x)[1]});
  c.set(2, c.type(1), {s.plus((*x)[0], Dim::of(1))});
  c.set(3, c.type(1), {Dim::of(1)});
  return {};
}

Status fused_restore_padding(InferenceContext& c) {
  const Result<Shape> x = shape_of_rank(c, 0, 2, "the input");
  PLIMSOLL_TRY(x);
  const Result<Shape> offsets = shape_of_rank(c, 1, 2, "token_offset");
  PLIMSOLL_TRY(offsets);
  c.set(0, c.type(0), {(*offsets)[0], (*offsets)[1], (*x)[1]});
  return {};
}

/// Inputs: the result's scale and zero point, then a tensor, scale and zero point each.
Status fused_quantized_concat(InferenceContext& c) {
  Shape out;
  std::optional<std::size_t> axis;
  for (std::size_t i = 2; i < c.inputs(); i += 3) {
    if (!c.ranked(i)) {
      c.set_unranked(0, c.type(1));
      return {};
    }
    const auto d = c.dims(i);
    if (!axis) {
      const Result<std::size_t> found = InferenceContext::axis(c.integer("axis", 0), d.size());
      PLIMSOLL_TRY(found);
      axis = *found;
      out = Shape(d);
      continue;
    }
    if (d.size() != out.rank()) return fail("{} cannot be joined to {}", c.show(d), c.show(out.dims()));
    for (std::size_t j = 0; j < d.size(); ++j) {
      if (j != *axis && differ(d[j], out[j]))
        return fail("{} cannot be joined to {} along axis {}", c.show(d), c.show(out.dims()), *axis);
      out[j] = j == *axis ? c.symbols().plus(out[j], d[j]) : agreed(out[j], d[j]);
    }
  }
  c.set(0, c.type(1), out);
  return {};
}

Status fused_quantized_mean(InferenceContext& c) {
  const auto axes = c.integers("axes");
  const bool keep = c.integer("keepdims", 1) != 0;
  if (!c.ranked(0)) {
    c.set_unranked(0, c.type(0));
    return {};
  }
  const auto d = c.dims(0);
  std::array<bool, kMaxRank> reduced{};
  if (axes.empty()) reduced.fill(true);
  for (const std::int64_t axis : axes) {
    const Result<std::size_t> at = InferenceContext::axis(axis, d.size());
    PLIMSOLL_TRY(at);
    reduced[*at] = true;
  }
  Shape out;
  for (std::size_t i = 0; i < d.size(); ++i) {
    if (!reduced[i]) out.push_back(d[i]);
    if (reduced[i] && keep) out.push_back(Dim::of(1));
  }
  c.set(0, c.type(0), out);
  return {};
}

/// A table whose rows may be packed, several numbers in each byte of the last extent.
Status fused_gather_quantized(InferenceContext& c) {
  if (!c.ranked(0) || !c.ranked(1)) {
    c.set_unranked(0, c.type(2));
    return {};
  }
  Shape data(c.dims(0));
  const Result<std::size_t> axis = InferenceContext::axis(c.integer("gather_axis", 0), data.rank());
  PLIMSOLL_TRY(axis);
  const std::int64_t bits = c.integer("bits", 4);
  if (bits != 2 && bits != 4 && bits != 8) return fail("bits is {}; it must be 2, 4 or 8", bits);
  if (c.type(0) == DataType::uint8)
    data[data.rank() - 1] = c.symbols().times(data[data.rank() - 1], Dim::of(8 / bits));
  Shape out(data.dims().first(*axis));
  out.append(c.dims(1));
  out.append(data.dims().subspan(*axis + 1));
  c.set(0, c.type(2), out);
  return {};
}

Status fused_gather_nd(InferenceContext& c) {
  if (!c.ranked(0) || !c.ranked(1) || c.rank(1) == 0 || !c.dims(1).back().exact()) {
    c.set_unranked(0, c.type(0));
    return {};
  }
  const auto data = c.dims(0), indices = c.dims(1);
  const auto depth = static_cast<std::uint64_t>(indices.back().value());
  if (depth > data.size()) return fail("indices {} reach deeper than data {}", c.show(indices), c.show(data));
  Shape out(indices.first(indices.size() - 1));
  out.append(data.subspan(depth));
  c.set(0, c.type(0), out);
  return {};
}

Status fused_expand_dims(InferenceContext& c) {
  const auto axis = c.integers(std::size_t{1});
  if (!c.ranked(0) || !axis || axis->size() != 1) {
    c.set_unranked(0, c.type(0));
    return {};
  }
  const auto d = c.dims(0);
  const Result<std::size_t> at = InferenceContext::axis(axis->front(), d.size() + 1);
  PLIMSOLL_TRY(at);
  Shape out(d.first(*at));
  out.push_back(Dim::of(1));
  out.append(d.subspan(*at));
  c.set(0, c.type(0), out);
  return {};
}

Status fused_unique(InferenceContext& c) {
  const Result<Shape> x = shape_of_rank(c, 0, 1, "the input");
  PLIMSOLL_TRY(x);
  const Interval all = c.symbols().bounds((*x)[0]);
  const Dim n = c.unknown("values", {all.low > 0 ? 1 : 0, all.high});
  c.set(0, c.type(0), {n});
  c.set(1, DataType::int64, *x);
  c.set(2, DataType::int64, {n});
  return {};
}

Status fused_unfold(InferenceContext& c) {
  const Result<std::int64_t> size = positive_attribute(c, "size", 0);
  PLIMSOLL_TRY(size);
  const Result<std::int64_t> step = positive_attribute(c, "step", 1);
  PLIMSOLL_TRY(step);
  if (!c.ranked(0)) {
    c.set_unranked(0, c.type(0));
    return {};
  }
  Shape out(c.dims(0));
  const Result<std::size_t> axis = InferenceContext::axis(c.integer("dim", -1), out.rank());
  PLIMSOLL_TRY(axis);
  Symbols& s = c.symbols();
  out[*axis] = s.plus(s.divide(s.minus(out[*axis], Dim::of(*size)), Dim::of(*step)), Dim::of(1));
  out.push_back(Dim::of(*size));
  c.set(0, c.type(0), out);
  return {};
}

Status fused_crop_and_resize(InferenceContext& c) {
  const Result<Shape> x = shape_of_rank(c, 0, 4, "the input");
  PLIMSOLL_TRY(x);
  const Result<Shape> regions = shape_of_rank(c, 1, 2, "rois");
  PLIMSOLL_TRY(regions);
  const auto size = c.integers(std::size_t{3});
  if (size && size->size() != 2) return fail("crop_size has {} values; 2 are needed", size->size());
  const Dim height = size ? Dim::of((*size)[0]) : c.unknown("height", {}),
            width = size ? Dim::of((*size)[1]) : c.unknown("width", {});
  c.set(0, c.type(0), {(*regions)[0], (*x)[1], height, width});
  return {};
}

Status fused_embedding(InferenceContext& c) {
  const Result<Shape> table = shape_of_rank(c, 0, 2, "the table");
  PLIMSOLL_TRY(table);
  if (!c.ranked(1)) {
    c.set_unranked(0, c.type(0));
    return {};
  }
  Shape out(c.dims(1));
  out.push_back((*table)[1]);
  c.set(0, c.type(0), out);
  return {};
}

}  // namespace plimsoll::network
