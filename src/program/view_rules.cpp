// Operators that move or pick elements: views where the framework makes views, copies where it copies.
#include <algorithm>
#include <numeric>

#include "program/lowering.hpp"
#include "program/views.hpp"

namespace plimsoll::program {
namespace {

using network::DataType;
using network::kNoTensor;
using network::Operator;
using network::TensorId;

std::span<const std::int64_t> dims_of(const Value& v) {
  return {v.dims.data(), v.rank};
}

void lower_reshape(Lowering& l, const Operator& op, const LoweringRule&) {
  const TensorId out = l.output(op, 0);
  ValueId x = l.value(l.input(op, 0));
  if (x == kNoValue) return;
  const Value shape = l.describe(out, l.at(x).type);
  if (!shape.strided) return l.bind_view(out, x, shape);
  auto view = viewed(l.at(x), dims_of(shape));
  if (!view) {
    x = l.copy(x);
    view = viewed(l.at(x), dims_of(shape));
  }
  l.bind_view(out, x, view.value_or(shape));
}

void lower_transpose(Lowering& l, const Operator& op, const LoweringRule&) {
  const ValueId x = l.value(l.input(op, 0));
  if (x == kNoValue) return;
  std::vector<std::int64_t> order = l.integers(op, "perm");
  if (order.empty()) {
    order.resize(l.at(x).rank);
    std::iota(order.rbegin(), order.rend(), std::int64_t{0});
  }
  l.bind_view(l.output(op, 0), x, permuted(l.at(x), order));
}

void lower_identity(Lowering& l, const Operator& op, const LoweringRule&) {
  const ValueId x = l.value(l.input(op, 0));
  if (x != kNoValue) l.bind_view(l.output(op, 0), x, l.at(x));
}

void lower_expand(Lowering& l, const Operator& op, const LoweringRule&) {
  const TensorId out = l.output(op, 0);
  const ValueId x = l.value(l.input(op, 0));
  if (x == kNoValue) {  // a number, filled in
    l.begin();
    return l.end({l.make(out, l.stored_type(l.shapes().type(out)), false)});
  }
  const Value shape = l.describe(out, l.at(x).type);
  if (shape.elements == l.at(x).elements) return l.bind_view(out, x, shape);
  l.begin();
  const ValueId result = l.alias(x, expanded(l.at(x), dims_of(shape)));
  l.bind(out, result);
  l.backward_sum(result, x);
  l.end({result});
}

/// A part of a tensor is a view; its gradient is a tensor of the whole's size, zero outside.
ValueId part(Lowering& l, ValueId x, TensorId out) {
  Value v = l.describe(out, l.at(x).type);
  const Value& whole = l.at(x);
  if (v.strided && whole.strided && v.rank == whole.rank)
    v.strides = whole.strides;
  else
    v.strided = false;
  const ValueId result = l.alias(x, v);
  l.bind(out, result);
  return result;
}

void lower_slice(Lowering& l, const Operator& op, const LoweringRule&) {
  const TensorId out = l.output(op, 0);
  const ValueId x = l.value(l.input(op, 0));
  if (x == kNoValue) return;
  if (l.describe(out, l.at(x).type).elements == l.at(x).elements) return l.bind_view(out, x, l.at(x));
  l.begin();
  const ValueId result = part(l, x, out);
  l.backward_gradient(x);
  l.end({result});
}

void lower_split(Lowering& l, const Operator& op, const LoweringRule&) {
  const ValueId x = l.value(l.input(op, 0));
  if (x == kNoValue) return;
  std::vector<ValueId> parts;
  l.begin();
  for (const TensorId out : l.network().outputs(op))
    if (out != kNoTensor) parts.push_back(part(l, x, out));
  l.backward_gradient(x);  // the parts' gradients are joined
  l.end(parts);
}

void lower_gather(Lowering& l, const Operator& op, const LoweringRule&) {
  const TensorId out = l.output(op, 0), indices = l.input(op, 1);
  ValueId x = l.value(l.input(op, 0));
  if (x == kNoValue) return;
  const auto axis = l.integer(op, "axis", 0);
  const bool one =
      l.shapes().at(indices).has_value && l.shapes().ranked(indices) && l.shapes().dims(indices).empty();
  if (one && l.at(x).strided && l.at(x).rank > 0) {
    // x[:, i]: a view.
    if (!l.at(x).contiguous() && l.needs_gradient(x) == l.training() && l.unpacks_projection(op)) {
      x = l.copy(x);
      l.bind(l.input(op, 0), x);
    }
    const auto where = static_cast<std::size_t>(axis < 0 ? axis + l.at(x).rank : axis);
    Value v = l.describe(out, l.at(x).type);
    if (v.strided && v.rank + 1 == l.at(x).rank)
      for (std::size_t i = 0; i < v.rank; ++i) v.strides[i] = l.at(x).strides[i < where ? i : i + 1];
    l.begin();
    const ValueId result = l.alias(x, v);
    l.bind(out, result);
    l.backward_gradient(x);
    return l.end({result});
  }
  const ValueId at = l.value(indices);
  l.begin();
  const ValueId result = l.make(out, l.at(x).type, l.needs_gradient(x));
  if (axis == 0 && l.at(x).rank == 2) {
    const std::int64_t width = std::max<std::int64_t>(l.at(x).dims[1], 1);
    const hardware::OperatorClass c = hardware::OperatorClass::embedding;
    const Lowering::Extents extents = {l.at(result).elements / width, width, l.at(x).dims[0]};
    l.kernel(c, l.at(x).type, extents);
    l.backward_kernel(x, c, hardware::Direction::backward_input, l.at(x).type, extents);
  }
  l.save(at);
  l.backward_gradient(x);
  l.end({result});
}

void lower_concat(Lowering& l, const Operator& op, const LoweringRule&) {
  const TensorId out = l.output(op, 0);
  std::vector<ValueId> inputs;
  DataType type = l.stored_type(l.shapes().type(out));
  bool gradient = false;
  ValueId widest = kNoValue;
  for (const TensorId id : l.network().inputs(op))
    if (const ValueId v = l.value(id); v != kNoValue) {
      if (widest == kNoValue || l.natural_type({widest, v}) == l.at(v).type) widest = v;
      type = l.at(widest).type;
      inputs.push_back(v);
      gradient |= l.needs_gradient(v);
    }
  for (ValueId& v : inputs) v = l.cast(v, type);
  l.begin();
  const ValueId result = l.make(out, type, gradient);
  if (!inputs.empty() && std::ranges::all_of(inputs, [&](ValueId v) { return is_channels_last(l.at(v)); }))
    l.lay_out_channels_last(result);
  const bool alike = std::ranges::all_of(inputs, [&](ValueId v) {
    return l.at(v).contiguous() || (is_channels_last(l.at(v)) && is_channels_last(l.at(result)));
  });
  l.kernel(hardware::OperatorClass::copy, alike ? type : l.stepped_type(type), {l.at(result).elements});
  for (const ValueId v : inputs) l.backward_share(v);  // parts of the gradient, as views
  l.end({result});
}

/// The result is new; the gradient is a tensor of the input's size.
void lower_moved(Lowering& l, const Operator& op, const LoweringRule& rule) {
  const TensorId out = l.output(op, 0);
  const ValueId x = l.value(l.input(op, 0));
  const DataType type = x == kNoValue || !network::is_float(l.stored_type(l.shapes().type(out)))
                            ? l.stored_type(l.shapes().type(out))
                            : l.at(x).type;
  if (x != kNoValue && rule.name == "Pad" && l.describe(out, type).elements == l.at(x).elements)
    return l.bind_view(out, x, l.at(x));
  const ValueId where = rule.name == "Resize" ? kNoValue : l.value(l.input(op, 1));
  l.begin();
  const ValueId result = l.make(out, type, l.needs_gradient(x));
  l.save(where);
  l.backward_gradient(x);
  l.end({result});
}

/// Made from nothing: no gradient passes.
void lower_made(Lowering& l, const Operator& op, const LoweringRule&) {
  std::vector<ValueId> results;
  l.begin();
  for (const TensorId out : l.network().outputs(op))
    if (out != kNoTensor) results.push_back(l.make(out, l.stored_type(l.shapes().type(out)), false));
  l.end(results);
}

/// Constants of the graph are on the device from the start; shapes are the host's.
void lower_nothing(Lowering&, const Operator&, const LoweringRule&) {}

constexpr LoweringRule kViewRules[] = {
    {"ArgMax", lower_made},
    {"ArgMin", lower_made},
    {"Bernoulli", lower_made},
    {"CenterCropPad", lower_moved},
    {"Compress", lower_moved},
    {"Concat", lower_concat},
    {"Constant", lower_nothing},
    {"ConstantOfShape", lower_made},
    {"DepthToSpace", lower_moved},
    {"Expand", lower_expand},
    {"EyeLike", lower_made},
    {"Flatten", lower_reshape},
    {"Gather", lower_gather},
    {"GatherElements", lower_moved},
    {"GatherND", lower_moved},
    {"GridSample", lower_moved},
    {"Identity", lower_identity},
    {"Multinomial", lower_made},
    {"NonMaxSuppression", lower_made},
    {"NonZero", lower_made},
    {"OneHot", lower_made},
    {"Pad", lower_moved},
    {"RandomNormal", lower_made},
    {"RandomNormalLike", lower_made},
    {"RandomUniform", lower_made},
    {"RandomUniformLike", lower_made},
    {"Range", lower_made},
    {"Reshape", lower_reshape},
    {"Resize", lower_moved},
    {"ReverseSequence", lower_moved},
    {"RoiAlign", lower_moved},
    {"Scatter", lower_moved},
    {"ScatterElements", lower_moved},
    {"ScatterND", lower_moved},
    {"Shape", lower_nothing},
    {"Size", lower_nothing},
    {"Slice", lower_slice},
    {"SpaceToDepth", lower_moved},
    {"Split", lower_split},
    {"Squeeze", lower_reshape},
    {"Tile", lower_moved},
    {"TopK", lower_made},
    {"Transpose", lower_transpose},
    {"Trilu", lower_moved},
    {"Unique", lower_made},
    {"Unsqueeze", lower_reshape},
    {"Upsample", lower_moved},
};

}  // namespace

std::span<const LoweringRule> view_rules() {
  return kViewRules;
}

}  // namespace plimsoll::program
