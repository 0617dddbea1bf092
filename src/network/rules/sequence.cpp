#include <algorithm>

#include "network/rules/axes.hpp"
#include "network/rules/control.hpp"
#include "network/rules/folding.hpp"
#include "network/rules/merging.hpp"

namespace plimsoll::network {
namespace {

/// An input as a sequence. One that the caller of the network gives is not known to be one: its length is
/// not known then, and what is known of its shape is that of an element.
Inferred as_sequence(InferenceContext& c, std::size_t input) {
  Inferred out = c.copy(input);
  if (out.kind != ValueKind::sequence) {
    out.kind = ValueKind::sequence;
    out.length = c.unknown("length", {});
  }
  out.has_value = false;
  return out;
}

/// One element taken from a sequence.
Inferred element(const Inferred& sequence) {
  Inferred out = sequence;
  out.kind = ValueKind::tensor;
  out.length = Dim();
  out.has_value = false;
  return out;
}

/// A sequence of one tensor, or of many like it.
Inferred sequence_of(Inferred tensor, Dim length) {
  tensor.kind = ValueKind::sequence;
  tensor.length = length;
  tensor.has_value = false;
  return tensor;
}

}  // namespace

Status sequence_empty(InferenceContext& c) {
  Inferred out;
  out.kind = ValueKind::sequence;
  const auto type = data_type_from_number(c.integer("dtype", static_cast<std::int64_t>(DataType::float32)));
  out.type = type.value_or(DataType::float32);
  out.length = Dim::of(0);
  c.set(0, std::move(out));
  return {};
}

Status sequence_construct(InferenceContext& c) {
  Inferred out = sequence_of(c.copy(0), Dim::of(static_cast<std::int64_t>(c.inputs())));
  for (std::size_t i = 1; i < c.inputs(); ++i)
    if (c.has(i)) out = merge(c, out, sequence_of(c.copy(i), out.length));
  c.set(0, std::move(out));
  return {};
}

Status sequence_insert(InferenceContext& c) {
  const Inferred before = as_sequence(c, 0);
  Inferred out = before.length.is(0) ? sequence_of(c.copy(1), Dim::of(1))
                                     : merge(c, before, sequence_of(c.copy(1), before.length));
  out.length = c.symbols().plus(before.length, Dim::of(1));
  if (before.type != DataType::undefined) out.type = before.type;
  c.set(0, std::move(out));
  return {};
}

Status sequence_erase(InferenceContext& c) {
  Inferred out = as_sequence(c, 0);
  if (out.length.is(0)) return fail("takes an element out of a sequence that is empty");
  out.length = c.symbols().minus(out.length, Dim::of(1));
  c.set(0, std::move(out));
  return {};
}

Status sequence_at(InferenceContext& c) {
  c.set(0, element(c.copy(0)));
  return {};
}

Status sequence_length(InferenceContext& c) {
  c.set(0, DataType::int64, Shape{});
  if (c.kind(0) != ValueKind::sequence) return {};
  const Scalar length = Scalar::extent(c.entry(0).length);
  c.set_value(0, std::span(&length, 1));
  return {};
}

/// The body sees one element of each sequence, and other tensors as they are.
Status sequence_map(InferenceContext& c) {
  const auto id = c.graph("body");
  if (!id) return fail("the body is missing");
  const Graph& body = c.network().graph(*id);
  if (body.inputs.size() != c.inputs())
    return fail("the body has {} inputs, the operator {}", body.inputs.size(), c.inputs());
  if (body.outputs.size() < c.outputs())
    return fail("the body has {} outputs, the operator {}", body.outputs.size(), c.outputs());
  const Dim length = as_sequence(c, 0).length;
  for (std::size_t i = 0; i < c.inputs(); ++i) {
    if (!c.has(i) || body.inputs[i] == kNoTensor) continue;
    const Inferred input = c.copy(i);
    c.set_tensor(body.inputs[i], i == 0 || input.kind == ValueKind::sequence ? element(input) : input);
  }
  PLIMSOLL_TRY(c.infer_body(*id));
  for (std::size_t i = 0; i < c.outputs(); ++i) c.set(i, sequence_of(body_output(c, body, i), length));
  return {};
}

namespace {

/// How an axis falls into parts: their number, and the extent of each.
struct SequenceParts {
  Dim number, extent;
};

Result<SequenceParts> parts_of(InferenceContext& c, Dim extent) {
  Symbols& symbols = c.symbols();
  const Interval bounds = symbols.bounds(extent);
  if (!c.has(1)) return SequenceParts{extent, Dim::of(1)};
  const bool by_size = c.ranked(1) && c.rank(1) == 0;
  if (!c.has_value(1)) {
    const auto named = c.ranked(1) && c.rank(1) == 1 ? std::optional(c.dims(1)[0]) : std::nullopt;
    return SequenceParts{named ? *named : c.unknown("parts", {0, bounds.high}),
                         c.unknown("part", {0, bounds.high})};
  }
  const auto sizes = c.value(1);
  if (by_size) {
    const Dim size = sizes.empty() ? Dim::invalid() : sizes.front().dim();
    if (!size.valid() || size.is(0))
      return fail("cannot split an extent of {} into parts of that size", symbols.text(extent));
    const bool even = extent.exact() && size.exact() && extent.value() % size.value() == 0;
    return SequenceParts{
        symbols.divide_up(extent, size),
        even ? size : c.unknown("part", {0, std::min(bounds.high, symbols.bounds(size).high)})};
  }
  Dim total;
  std::optional<Dim> each;
  bool same = true;
  std::int64_t high = 0;
  for (const Scalar& s : sizes) {
    if (!s.dim().valid()) return fail("a part cannot have a size of {}", s.real());
    total = symbols.plus(total, s.dim());
    same = same && (!each || *each == s.dim());
    each = s.dim();
    high = std::max(high, symbols.bounds(s.dim()).high);
  }
  if (extent.exact() && (!total.valid() || (total.exact() && total != extent)))
    return fail("the parts come to {}, the extent to be split is {}", symbols.text(total), extent.value());
  return SequenceParts{Dim::of(static_cast<std::int64_t>(sizes.size())),
                       same && each ? *each : c.unknown("part", {0, high})};
}

}  // namespace

Status split_to_sequence(InferenceContext& c) {
  Inferred out = c.copy(0);
  out.has_value = false;
  out.kind = ValueKind::sequence;
  if (!out.ranked) {
    out.length = c.unknown("length", {});
    c.set(0, std::move(out));
    return {};
  }
  const Result<std::size_t> axis = c.axis(c.integer("axis", 0), out.shape.rank());
  PLIMSOLL_TRY(axis);
  const Result<SequenceParts> parts = parts_of(c, out.shape[*axis]);
  PLIMSOLL_TRY(parts);
  out.length = parts->number;
  out.shape[*axis] = parts->extent;
  if (!c.has(1) && c.integer("keepdims", 1) == 0) {
    Shape shape(out.shape.dims().first(*axis));
    shape.append(out.shape.dims().subspan(*axis + 1));
    out.shape = shape;
  }
  c.set(0, std::move(out));
  return {};
}

Status concat_from_sequence(InferenceContext& c) {
  const Inferred sequence = as_sequence(c, 0);
  if (!sequence.ranked) {
    c.set_unranked(0, sequence.type);
    return {};
  }
  const bool stacked = c.integer("new_axis", 0) != 0;
  const Result<std::size_t> axis = c.axis(c.integer("axis", 0), sequence.shape.rank() + (stacked ? 1 : 0));
  PLIMSOLL_TRY(axis);
  Shape shape = sequence.shape;
  if (stacked) {
    shape = Shape(sequence.shape.dims().first(*axis));
    shape.push_back(sequence.length);
    shape.append(sequence.shape.dims().subspan(*axis));
  } else {
    shape[*axis] = c.symbols().times(sequence.length, shape[*axis]);
  }
  c.set(0, sequence.type, shape);
  return {};
}

// An optional that holds something has a length of 1; a sequence in an optional is kept as the sequence.

Status optional(InferenceContext& c) {
  Inferred out;
  out.kind = ValueKind::optional;
  if (c.has(0)) {
    out = c.copy(0);
    if (out.kind == ValueKind::tensor) {
      out.kind = ValueKind::optional;
      out.length = Dim::of(1);
    }
  }
  c.set(0, std::move(out));
  return {};
}

Status optional_has_element(InferenceContext& c) {
  c.set(0, DataType::boolean, Shape{});
  std::optional<bool> held;
  if (!c.has(0))
    held = false;
  else if (c.kind(0) == ValueKind::sequence || c.entry(0).length.is(1))
    held = true;
  if (!held) return {};
  const Scalar value = Scalar::integer(*held ? 1 : 0);
  c.set_value(0, std::span(&value, 1));
  return {};
}

Status optional_get_element(InferenceContext& c) {
  Inferred out = c.copy(0);
  if (out.kind == ValueKind::optional) {
    out.kind = ValueKind::tensor;
    out.length = Dim();
  }
  c.set(0, std::move(out));
  return {};
}

}  // namespace plimsoll::network
