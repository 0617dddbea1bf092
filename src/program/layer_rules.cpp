// Layers: convolutions, matrix products, pooling, dropout, reductions.
#include <algorithm>

#include "hardware/operator_curve.hpp"
#include "network/saturating.hpp"
#include "program/convolution_workspace.hpp"
#include "program/lowering.hpp"
#include "program/views.hpp"

namespace plimsoll::program {
namespace {

using network::DataType;
using network::kNoTensor;
using network::Operator;
using network::TensorId;
using Saved = LoweringRule::Saved;
using hardware::Direction;
using hardware::OperatorClass;
using network::product, network::sum;

ConvolutionShape convolution_shape(Lowering& l, const Operator& op, const Value& x, const Value& w,
                                   const Value& y) {
  ConvolutionShape s;
  s.batch = x.dims[0];
  s.groups = std::max<std::int64_t>(l.integer(op, "group", 1), 1);
  s.in_channels = x.dims[1];
  s.out_channels = y.dims[1];
  s.rank = std::clamp(x.rank - 2, 1, 3);
  s.element_bits = network::bits(x.type);
  const auto strides = l.integers(op, "strides"), dilations = l.integers(op, "dilations");
  for (std::size_t i = 0; i < static_cast<std::size_t>(s.rank); ++i) {
    s.input[i] = x.dims[i + 2];
    s.output[i] = y.dims[i + 2];
    s.kernel[i] = w.dims[i + 2];
    if (i < strides.size()) s.stride[i] = strides[i];
    if (i < dilations.size()) s.dilation[i] = dilations[i];
  }
  return s;
}

/// The convolution as calibrations know it. A single dimension is a row; of three the first counts as batch.
hardware::OperatorCase convolution_case(const Lowering& l, const ConvolutionShape& s, Direction direction,
                                        DataType type, bool channels_last) {
  const bool deep = s.rank == 3, row = s.rank == 1;
  const std::size_t last = static_cast<std::size_t>(s.rank) - 1;
  const OperatorClass first = s.groups == 1               ? OperatorClass::convolution
                              : s.groups != s.in_channels ? OperatorClass::grouped
                                                          : OperatorClass::depthwise;
  const OperatorClass c = channels_last ? hardware::channels_last(first) : first;
  return {.operator_class = c,
          .direction = direction,
          .arithmetic = l.arithmetic(c, type),
          .extents = {deep ? network::product(s.batch, s.output[0]) : s.batch, s.in_channels,
                      row ? 1 : s.input[last - 1], s.input[last], s.out_channels,
                      row ? 1 : network::product(s.kernel[last - 1], deep ? s.kernel[0] : 1), s.kernel[last],
                      row ? s.stride[last] : s.stride[last - 1], s.groups, row ? 1 : s.output[last - 1],
                      s.output[last], s.stride[last], row ? 1 : s.dilation[last - 1], s.dilation[last]}};
}

/// A transposed convolution runs as the input's gradient of the convolution from its result to its input.
void name_convolution(Lowering& l, const ConvolutionShape& s, ValueId x, ValueId w, ValueId b, const Value& y,
                      DataType type, bool transposed) {
  const bool channels_last = l.platform().gpu && (is_channels_last(l.at(x)) || is_channels_last(l.at(w)));
  const auto run = [&](Direction direction, bool backward, ValueId of) {
    const hardware::OperatorCase c = convolution_case(l, s, direction, type, channels_last);
    if (backward)
      l.backward_kernel(of, c);
    else
      l.kernel(c);
  };
  const bool turned = channels_last && s.in_channels > s.groups && positions(l.at(w)) > 1;
  if (turned && !is_channels_last(l.at(w)))  // its weights are brought into the same order each time
    l.kernel(OperatorClass::transpose, type,
             {s.out_channels, s.in_channels / s.groups,
              network::product(l.at(w).elements, s.groups) /
                  std::max<std::int64_t>(network::product(s.out_channels, s.in_channels), 1)});
  run(transposed ? Direction::backward_input : Direction::forward, false, x);
  run(transposed ? Direction::forward : Direction::backward_input, true, x);
  run(Direction::backward_weight, true, w);
  if (b == kNoValue) return;
  const std::int64_t channels = std::max<std::int64_t>(y.dims[1], 1), rows = y.elements / channels;
  if (channels_last) {
    l.kernel(OperatorClass::broadcast, type, {rows, channels, 1});
    return l.backward_kernel(b, OperatorClass::column_sum, Direction::forward, type, {rows, channels});
  }
  l.kernel(OperatorClass::broadcast, type, {y.dims[0], channels, positions(y)});
  l.backward_kernel(b, OperatorClass::channel_sum, Direction::forward, type,
                    {y.dims[0], channels, positions(y)});
}

/// As measured where the calibration has the shape, else by the rule. That knows the H200 with TF32 allowed
/// better than a shape that is only alike does (docs/calibration.md); other devices, and other arithmetic, it
/// does not know.
std::int64_t workspace_of(const Lowering& l, const ConvolutionShape& s, ConvolutionPass pass, DataType type) {
  using Near = hardware::OperatorCurves::Near;
  static_assert(static_cast<int>(ConvolutionPass::weight_gradient) ==
                static_cast<int>(Direction::backward_weight));
  if (l.platform().curves != nullptr && s.rank == 2) {
    const hardware::OperatorCase c = convolution_case(l, s, static_cast<Direction>(pass), type, false);
    const bool ruled = l.platform().rule_is_of_device && c.arithmetic != hardware::Arithmetic::fp32;
    if (const auto measured = l.platform().curves->workspace(c, ruled ? Near::same : Near::alike))
      return static_cast<std::int64_t>(*measured);
  }
  return convolution_workspace(s, pass);
}

void lower_convolution(Lowering& l, const Operator& op, const LoweringRule& rule) {
  ValueId x = l.value(l.input(op, 0)), w = l.value(l.input(op, 1)), b = l.value(l.input(op, 2));
  if (x == kNoValue || w == kNoValue) return l.unruled(op);
  const DataType type = l.low_type(l.natural_type({x, w}));
  x = l.cast(x, type);
  w = l.cast(w, type);
  b = l.cast(b, type);
  const TensorId out = l.output(op, 0);
  l.begin();
  const ValueId y = l.make(out, type, l.needs_gradient(x) || l.needs_gradient(w));
  const bool channels_last = is_channels_last(l.at(x)) || is_channels_last(l.at(w));
  if (channels_last) l.lay_out_channels_last(y);
  const bool transposed = rule.name == "ConvTranspose";
  std::int64_t forward = 0, input_gradient = 0, weight_gradient = 0;
  ConvolutionShape s;
  const bool known = l.at(x).rank >= 3 && l.at(x).strided && l.at(w).rank == l.at(x).rank;
  if (known)
    s = transposed ? convolution_shape(l, op, l.at(y), l.at(w), l.at(x))
                   : convolution_shape(l, op, l.at(x), l.at(w), l.at(y));
  if (known) name_convolution(l, s, x, w, b, l.at(y), type, transposed);
  if (known && !channels_last) {
    forward =
        workspace_of(l, s, transposed ? ConvolutionPass::input_gradient : ConvolutionPass::forward, type);
    input_gradient =
        workspace_of(l, s, transposed ? ConvolutionPass::forward : ConvolutionPass::input_gradient, type);
    weight_gradient = workspace_of(l, s, ConvolutionPass::weight_gradient, type);
  }
  // Plans differ in which operands they copy into another layout.
  const std::int64_t copies = channels_last ? 0 : l.at(x).bytes() + l.at(w).bytes() + l.at(y).bytes();
  l.workspace(forward, copies);
  l.save(x);
  l.save(w);
  if (l.needs_gradient(x)) {
    l.backward_gradient(x);
    l.backward_workspace(input_gradient, copies);
  }
  if (l.needs_gradient(w)) {
    l.backward_gradient(w);
    l.backward_workspace(weight_gradient, copies);
  }
  l.backward_gradient(b);
  l.end({y});
}

void lower_softmax(Lowering& l, const Operator& op, const LoweringRule& rule) {
  ValueId x = l.value(l.input(op, 0));
  if (x == kNoValue) return;
  x = l.cast(x, rule.cast == CastPolicy::full ? l.full_type(l.at(x).type) : l.at(x).type);
  l.begin();
  const ValueId y = l.make(l.output(op, 0), l.at(x).type, l.needs_gradient(x));
  if (rule.saved == Saved::input) l.save(x);
  if (rule.saved == Saved::result) l.save(y);
  const std::int64_t axis = l.integer(op, "axis", -1), rank = l.at(x).rank;
  const std::int64_t width =
      rank == 0 ? 1
                : std::max<std::int64_t>(l.at(x).dims[static_cast<std::size_t>(std::clamp<std::int64_t>(
                                             axis < 0 ? axis + rank : axis, 0, rank - 1))],
                                         1);
  l.kernel(OperatorClass::softmax, l.at(x).type, {l.at(x).elements / width, width});
  l.backward_kernel(x, OperatorClass::softmax, Direction::backward_input, l.at(x).type,
                    {l.at(x).elements / width, width});
  l.backward_gradient(x);
  l.end({y});
}

/// Windows of a pool; over everything it is a mean.
void name_pool(Lowering& l, const Operator& op, ValueId x, const Value& y, OperatorClass c) {
  const Value& v = l.at(x);
  const auto kernel = l.integers(op, "kernel_shape"), strides = l.integers(op, "strides");
  const bool channels_last = l.platform().gpu && is_channels_last(v);
  if (v.rank < 3 || kernel.empty() || positions(y) == 1) {
    const std::int64_t over = positions(v), results = v.elements / std::max<std::int64_t>(over, 1);
    if (channels_last)
      l.kernel(OperatorClass::column_sum, v.type, {over, results});
    else
      l.kernel(OperatorClass::global_pool, v.type, {results, over});
    return l.backward_kernel(x, OperatorClass::unary, Direction::forward, v.type, {v.elements});
  }
  const bool row = v.rank == 3;
  const auto before_last = [&](std::span<const std::int64_t> of) {
    return of.size() > 1 ? of[of.size() - 2] : of.back();
  };
  // Of three dimensions the first counts as more channels.
  const std::int64_t depth = v.rank > 4 ? std::max<std::int64_t>(y.dims[2], 1) : 1;
  const Lowering::Extents extents = {v.dims[0],
                                     network::product(v.dims[1], depth),
                                     row ? 1 : v.dims[v.rank - 2],
                                     v.dims[v.rank - 1],
                                     row ? 1 : before_last(kernel),
                                     strides.empty() ? 1 : strides.back(),
                                     row ? 1 : y.dims[y.rank - 2],
                                     y.dims[y.rank - 1],
                                     kernel.back()};
  const OperatorClass laid_out = channels_last ? hardware::channels_last(c) : c;
  l.kernel(laid_out, v.type, extents);
  l.backward_kernel(x, laid_out, Direction::backward_input, v.type, extents);
}

void lower_max_pool(Lowering& l, const Operator& op, const LoweringRule&) {
  const ValueId x = l.value(l.input(op, 0));
  if (x == kNoValue) return;
  l.begin();
  const ValueId y = l.make(l.output(op, 0), l.at(x).type, l.needs_gradient(x));
  if (is_channels_last(l.at(x))) l.lay_out_channels_last(y);
  const ValueId indices = l.make_hidden(l.at(y).elements, DataType::int64);
  l.save(x);
  l.save(indices);
  name_pool(l, op, x, l.at(y), OperatorClass::max_pool);
  l.backward_gradient(x);
  l.end({y});
}

void lower_pool(Lowering& l, const Operator& op, const LoweringRule& rule) {
  const ValueId x = l.value(l.input(op, 0));
  if (x == kNoValue) return;
  l.begin();
  const ValueId y = l.make(l.output(op, 0), l.at(x).type, l.needs_gradient(x));
  if (is_channels_last(l.at(x))) l.lay_out_channels_last(y);
  if (rule.saved == Saved::input) l.save(x);
  name_pool(l, op, x, l.at(y), OperatorClass::average_pool);
  l.backward_gradient(x);
  l.end({y});
}

void lower_dropout(Lowering& l, const Operator& op, const LoweringRule&) {
  const TensorId out = l.output(op, 0);
  const ValueId x = l.value(l.input(op, 0));
  if (x == kNoValue) return;
  double ratio = 0.5;
  if (const TensorId given = l.input(op, 1); given != kNoTensor && l.shapes().at(given).has_value) {
    const auto value = l.shapes().value(given);
    if (value.size() == 1) ratio = value[0].real();
  } else if (const auto* a = l.network().find(op, "ratio");
             a != nullptr && a->kind == network::Attribute::Kind::real) {
    ratio = a->real;
  }
  if (!l.training() || ratio == 0) return l.bind_view(out, x, l.at(x));
  l.begin();
  const ValueId y = l.make(out, l.at(x).type, l.needs_gradient(x));
  l.lay_out_like(y, x);
  l.save(l.make_hidden(l.at(x).elements, DataType::boolean));
  l.backward_gradient(x);
  l.end({y});
}

void lower_reduction(Lowering& l, const Operator& op, const LoweringRule& rule) {
  ValueId x = l.value(l.input(op, 0));
  const TensorId out = l.output(op, 0);
  if (x == kNoValue) return;
  const DataType natural = network::is_float(l.shapes().type(out)) ? l.at(x).type : l.shapes().type(out);
  const DataType type = rule.cast == CastPolicy::full ? l.full_type(natural) : natural;
  if (network::is_float(type)) x = l.cast(x, type);
  l.begin();
  const ValueId y = l.make(out, type, l.needs_gradient(x));
  if (rule.saved == Saved::input) l.save(x);
  if (rule.saved == Saved::result) l.save(y);
  const Value& whole = l.at(x);
  const std::int64_t results = std::max<std::int64_t>(l.at(y).elements, 1), over = whole.elements / results;
  // Sums over the last dimension run along rows, others down columns.
  const Value& made = l.at(y);
  const bool rows = whole.rank == 0 || made.rank < whole.rank || made.dims[made.rank - 1] == 1;
  if (rows)
    l.kernel(OperatorClass::row_sum, whole.type, {results, over});
  else
    l.kernel(OperatorClass::column_sum, whole.type, {over, results});
  if (rule.name == "ReduceSum") {
    l.backward_share(x);  // the gradient, expanded
  } else {
    l.backward_kernel(x, OperatorClass::unary, Direction::forward, whole.type, {whole.elements});
    l.backward_gradient(x);
  }
  l.end({y});
}

void lower_gemm(Lowering& l, const Operator& op, const LoweringRule&) {
  lower_linear(l, l.input(op, 0), l.input(op, 1), l.input(op, 2), l.output(op, 0));
}

/// Products of a stack of matrices; each operand's gradient is a product, too.
void name_products(Lowering& l, ValueId a, ValueId b, const Value& y, DataType type) {
  const ValueId known = a != kNoValue ? a : b;
  if (known == kNoValue || y.rank == 0) return;
  const Value& v = l.at(known);
  const std::int64_t n = y.dims[y.rank - 1], m = y.rank > 1 ? y.dims[y.rank - 2] : 1;
  const std::int64_t k = v.rank == 0 ? 1 : v.dims[a != kNoValue || v.rank < 2 ? v.rank - 1 : v.rank - 2];
  const std::int64_t batch = y.elements / std::max<std::int64_t>(product(m, n), 1);
  const std::int64_t rows = product(batch, m);
  const bool stored =
      l.stored_kernel(b, type, {.m = rows, .n = n, .k = k}) ||
      l.stored_kernel(a, type, {.m = y.elements / std::max<std::int64_t>(m, 1), .n = m, .k = k});
  if (!stored) l.kernel(OperatorClass::batched, type, {batch, m, n, k});
  l.backward_kernel(a, OperatorClass::batched, Direction::forward, type, {batch, m, k, n});
  l.backward_kernel(b, OperatorClass::batched, Direction::forward, type, {batch, k, n, m});
}

/// torch.matmul of two activations: operands whose batch dimensions cannot be one are copied first.
void lower_mat_mul(Lowering& l, const Operator& op, const LoweringRule&) {
  ValueId a = l.value(l.input(op, 0)), b = l.value(l.input(op, 1));
  const DataType natural = l.natural_type({a, b});
  const DataType type =
      natural == DataType::undefined ? l.stored_type(l.shapes().type(l.output(op, 0))) : l.low_type(natural);
  a = l.cast(a, type);
  b = l.cast(b, type);
  if (a != kNoValue && !is_batch_of_matrices(l.at(a))) a = l.copy(a);
  if (b != kNoValue && !is_batch_of_matrices(l.at(b))) b = l.copy(b);
  l.begin();
  l.library();
  const ValueId y = l.make(l.output(op, 0), type, l.needs_gradient(a) || l.needs_gradient(b));
  name_products(l, a, b, l.at(y), type);
  if (l.needs_gradient(a)) l.save(b);
  if (l.needs_gradient(b)) l.save(a);
  l.backward_library();
  l.backward_gradient(a);
  l.backward_gradient(b);
  l.end({y});
}

constexpr LoweringRule kLayerRules[] = {
    {"AveragePool", lower_pool, CastPolicy::natural, Saved::input},
    {"Conv", lower_convolution, CastPolicy::low},
    {"ConvTranspose", lower_convolution, CastPolicy::low},
    {"CumSum", lower_reduction, CastPolicy::full},
    {"Dropout", lower_dropout},
    {"Gemm", lower_gemm, CastPolicy::low},
    {"GlobalAveragePool", lower_pool},
    {"GlobalMaxPool", lower_max_pool},
    {"LRN", lower_softmax, CastPolicy::natural, Saved::input},
    {"LogSoftmax", lower_softmax, CastPolicy::full, Saved::result},
    {"MatMul", lower_mat_mul, CastPolicy::low},
    {"MaxPool", lower_max_pool},
    {"ReduceL1", lower_reduction, CastPolicy::full, Saved::input},
    {"ReduceL2", lower_reduction, CastPolicy::full, Saved::input},
    {"ReduceLogSumExp", lower_reduction, CastPolicy::full, Saved::input},
    {"ReduceMax", lower_reduction, CastPolicy::natural, Saved::input},
    {"ReduceMean", lower_reduction},
    {"ReduceMin", lower_reduction, CastPolicy::natural, Saved::input},
    {"ReduceProd", lower_reduction, CastPolicy::full, Saved::input},
    {"ReduceSum", lower_reduction, CastPolicy::full},
    {"ReduceSumSquare", lower_reduction, CastPolicy::full, Saved::input},
    {"Softmax", lower_softmax, CastPolicy::full, Saved::result},
};

}  // namespace

void lower_linear(Lowering& l, TensorId input, TensorId weight, TensorId bias, TensorId output) {
  ValueId x = l.value(input), w = l.value(weight), b = l.value(bias);
  if (x == kNoValue || w == kNoValue) return;
  const DataType type = l.low_type(l.natural_type({x, w}));
  // The bias is cast before the weight, and both before the input, as autocast takes the arguments.
  b = l.cast(b, type);
  w = l.cast(w, type);
  x = l.cast(x, type);
  // On rows that were not contiguous the bias is not part of the product.
  const bool apart = b != kNoValue && l.at(x).rank > 2 && !l.at(x).contiguous() && l.training();
  if (l.at(x).rank > 2) x = l.contiguous(x);
  l.begin();
  l.library();
  const ValueId y = l.make(output, type, l.needs_gradient(x) || l.needs_gradient(w) || l.needs_gradient(b));
  const std::int64_t n = l.at(y).rank == 0 ? 1 : std::max<std::int64_t>(l.at(y).dims[l.at(y).rank - 1], 1);
  const std::int64_t m = l.at(y).elements / n;
  const std::int64_t k = l.at(w).elements / n;
  if (!l.stored_kernel(w, type, {.m = m, .n = n, .k = k}))
    l.kernel(OperatorClass::matrix, type, {m, n, k, b == kNoValue || apart ? 0 : 1});
  if (apart) l.kernel(OperatorClass::broadcast, DataType::float32, {m, n, 1});
  l.backward_kernel(x, OperatorClass::matrix, Direction::backward_input, type, {m, n, k, 0});
  l.backward_kernel(w, OperatorClass::matrix, Direction::backward_weight, type, {m, n, k, 0});
  l.backward_kernel(b, OperatorClass::column_sum, Direction::forward, type, {m, n});
  if (l.needs_gradient(w)) l.save(x);
  if (l.needs_gradient(x)) l.save(w);
  l.backward_library();
  l.backward_gradient(x);
  l.backward_gradient(w);
  if (b != kNoValue) l.backward_sum(y, b);
  l.end({y});
}

std::span<const LoweringRule> layer_rules() {
  return kLayerRules;
}

}  // namespace plimsoll::program
