// What element-wise kernels allocate and what autograd keeps of them.
#include <algorithm>

#include "program/lowering.hpp"
#include "program/views.hpp"

namespace plimsoll::program {
namespace {

using network::DataType;
using network::Operator;
using network::TensorId;
using Saved = LoweringRule::Saved;
using hardware::Direction;
using hardware::OperatorClass;

/// Whether an activation directly after these is written in place by the networks that people use.
bool follows_a_layer(Lowering& l, TensorId input) {
  const Operator* maker = l.producer(input);
  if (maker == nullptr) return false;
  static constexpr std::string_view kLayers[] = {
      "Conv", "ConvTranspose", "BatchNormalization", "GroupNormalization", "InstanceNormalization", "Add"};
  return std::ranges::find(kLayers, l.network().type_of(*maker)) != std::end(kLayers);
}

bool runs_in_place(Lowering& l, TensorId input, const LoweringRule& rule) {
  if (!rule.in_place || l.setting().in_place == network::InPlace::never) return false;
  // The gate and its product both read a gated activation's input.
  const std::uint32_t readers = rule.name == "Silu" ? 2 : 1;
  if (l.uses(input) > readers || l.is_network_weight(input)) return false;
  return l.setting().in_place == network::InPlace::always || follows_a_layer(l, input);
}

bool same_extents(const Value& a, const Value& b) {
  return a.elements == b.elements;
}

DataType result_type(Lowering& l, const Operator& op, std::initializer_list<ValueId> inputs,
                     CastPolicy policy) {
  const DataType declared = l.stored_type(l.shapes().type(l.output(op, 0)));
  if (!network::is_float(declared)) return declared;
  const DataType natural = l.natural_type(inputs);
  if (!network::is_float(natural)) return declared;
  return policy == CastPolicy::full  ? l.full_type(natural)
         : policy == CastPolicy::low ? l.low_type(natural)
                                     : natural;
}

/// Gives back the gradient of one operand of a broadcasting product: a product of the result's size, summed
/// where the operand is smaller.
void product_gradient(Lowering& l, ValueId operand, ValueId result) {
  if (!l.needs_gradient(operand)) return;
  if (same_extents(l.at(operand), l.at(result))) return l.backward_gradient(operand);
  l.backward_scratch(l.at(result).bytes());
  l.backward_sum(result, operand);
  l.backward_drop();
}

struct Operands {
  std::vector<ValueId> inputs;  ///< kNoValue for numbers of the host
  ValueId result = kNoValue;
};

/// One kernel: over whole tensors, over one and numbers, or over one and a smaller one.
void name_broadcast(Lowering& l, const Operands& o) {
  const Value& y = l.at(o.result);
  std::size_t whole = 0;
  std::int64_t smaller = 0;
  bool alike = true;
  for (const ValueId v : o.inputs) {
    if (v == kNoValue || l.at(v).elements <= 1) continue;
    if (!same_extents(l.at(v), y)) {
      smaller = std::max(smaller, l.at(v).elements);
      continue;
    }
    ++whole;
    alike = alike && lies_like(l.at(v), y);
  }
  if (whole >= 2)
    for (std::size_t i = 1; i < whole; ++i)
      l.kernel(OperatorClass::binary, alike ? y.type : l.stepped_type(y.type), {y.elements});
  else if (smaller > 0)
    l.kernel(OperatorClass::broadcast, y.type, {1, smaller, y.elements / smaller});
  else
    l.kernel(OperatorClass::unary, y.type, {y.elements});
}

/// Two operands, or as many as Sum, Max and Min have.
Operands begin_broadcast(Lowering& l, const Operator& op, const LoweringRule& rule) {
  Operands out;
  ValueId widest = kNoValue;
  bool gradient = false;
  for (const TensorId id : l.network().inputs(op)) {
    const ValueId v = l.value(id);
    out.inputs.push_back(v);
    if (v == kNoValue) continue;
    gradient |= l.needs_gradient(v);
    if (widest == kNoValue || l.natural_type({widest, v}) == l.at(v).type) widest = v;
  }
  const DataType type = result_type(l, op, {widest}, rule.cast);
  if (rule.cast == CastPolicy::full)
    for (ValueId& v : out.inputs) v = l.cast(v, type);
  l.begin();
  out.result = l.make(l.output(op, 0), type, gradient);
  for (std::size_t i = out.inputs.size(); i-- > 0;)
    if (out.inputs[i] != kNoValue && same_extents(l.at(out.inputs[i]), l.at(out.result)))
      l.lay_out_like(out.result, out.inputs[i]);
  name_broadcast(l, out);
  return out;
}

void lower_sum(Lowering& l, const Operator& op, const LoweringRule& rule) {
  const Operands o = begin_broadcast(l, op, rule);
  for (const ValueId operand : o.inputs) {
    if (operand == kNoValue) continue;
    if (!same_extents(l.at(operand), l.at(o.result)))
      l.backward_sum(o.result, operand);
    else if (l.at(operand).type != l.at(o.result).type)
      l.backward_gradient(operand);
    else
      l.backward_share(operand);
  }
  l.end({o.result});
}

/// Each operand's gradient needs the other, a quotient's divisor its own value too.
void lower_product(Lowering& l, const Operator& op, const LoweringRule& rule) {
  const Operands o = begin_broadcast(l, op, rule);
  const bool quotient = rule.name == "Div";
  for (std::size_t i = 0; i < o.inputs.size(); ++i) {
    const bool other_needs =
        std::ranges::any_of(o.inputs, [&](ValueId v) { return v != o.inputs[i] && l.needs_gradient(v); });
    const bool itself_twice = o.inputs.size() == 2 && o.inputs[0] == o.inputs[1];
    if (other_needs || (itself_twice && i == 0) || (quotient && i == 1 && l.needs_gradient(o.inputs[1])))
      l.save(o.inputs[i]);
  }
  for (std::size_t i = 0; i < o.inputs.size(); ++i) {
    const bool divisor = quotient && i == 1 && l.needs_gradient(o.inputs[i]);
    if (divisor) l.backward_scratch(l.at(o.result).bytes());
    product_gradient(l, o.inputs[i], o.result);
    if (divisor) l.backward_drop();
  }
  l.end({o.result});
}

/// Minimum, maximum and powers of tensors keep all of them.
void lower_binary(Lowering& l, const Operator& op, const LoweringRule& rule) {
  const Operands o = begin_broadcast(l, op, rule);
  for (const ValueId operand : o.inputs) l.save(operand);
  for (int i = 0; i < rule.backward_scratch; ++i) l.backward_scratch(l.at(o.result).bytes());
  for (const ValueId operand : o.inputs) product_gradient(l, operand, o.result);
  l.end({o.result});
}

/// Comparisons and logic: truth values, through which no gradient passes.
void lower_comparison(Lowering& l, const Operator& op, const LoweringRule&) {
  for (const TensorId id : l.network().inputs(op)) (void)l.value(id);
  l.begin();
  l.end({l.make(l.output(op, 0), l.shapes().type(l.output(op, 0)), false)});
}

void lower_where(Lowering& l, const Operator& op, const LoweringRule&) {
  const ValueId condition = l.value(l.input(op, 0)), a = l.value(l.input(op, 1)), b = l.value(l.input(op, 2));
  const DataType type = result_type(l, op, {a, b}, CastPolicy::natural);
  l.begin();
  const ValueId result = l.make(l.output(op, 0), type, l.needs_gradient(a) || l.needs_gradient(b));
  l.save(condition);
  product_gradient(l, a, result);
  product_gradient(l, b, result);
  l.end({result});
}

void lower_cast(Lowering& l, const Operator& op, const LoweringRule&) {
  const TensorId out = l.output(op, 0);
  const ValueId x = l.value(l.input(op, 0));
  if (x == kNoValue) return;
  const DataType type = l.stored_type(l.shapes().type(out));
  // A cast to float32 in a network that computes in a narrower type follows the network.
  const bool same = l.at(x).type == type ||
                    (network::is_float(type) && network::is_float(l.at(x).type) && type == DataType::float32);
  if (same) return l.bind_view(out, x, l.at(x));
  l.begin();
  const ValueId result = l.make(out, type, l.needs_gradient(x));
  l.backward_gradient(x);
  l.end({result});
}

/// Whether more than a comparison is computed per element.
bool is_function(std::string_view name) {
  static constexpr std::string_view kPlain[] = {"Abs", "Ceil", "Clip",  "Floor", "LeakyRelu",
                                                "Neg", "Relu", "Round", "Sign",  "ThresholdedRelu"};
  return std::ranges::find(kPlain, name) == std::end(kPlain);
}

void name_unary(Lowering& l, ValueId x, const Value& result, const LoweringRule& rule) {
  const OperatorClass c = is_function(rule.name) ? OperatorClass::function : OperatorClass::unary;
  l.kernel(c, result.type, {result.elements});
  for (int i = 0; i < rule.backward_scratch; ++i)
    l.backward_kernel(x, OperatorClass::binary, Direction::forward, result.type, {result.elements});
  l.backward_kernel(x, c, Direction::backward_input, result.type, {result.elements});
}

constexpr LoweringRule kElementwiseRules[] = {
    {"Abs", lower_unary, CastPolicy::natural, Saved::input, 1},
    {"Acos", lower_unary, CastPolicy::full, Saved::input, 2},
    {"Add", lower_sum},
    {"And", lower_comparison},
    {"Asin", lower_unary, CastPolicy::full, Saved::input, 2},
    {"Atan", lower_unary, CastPolicy::natural, Saved::input, 2},
    {"BitShift", lower_comparison},
    {"BitwiseAnd", lower_comparison},
    {"BitwiseNot", lower_comparison},
    {"BitwiseOr", lower_comparison},
    {"BitwiseXor", lower_comparison},
    {"Cast", lower_cast},
    {"CastLike", lower_cast},
    {"Ceil", lower_unary},
    {"Celu", lower_unary, CastPolicy::natural, Saved::input, 0, true},
    {"Clip", lower_unary, CastPolicy::natural, Saved::input, 0, true},
    {"Cos", lower_unary, CastPolicy::natural, Saved::input, 1},
    {"Cosh", lower_unary, CastPolicy::full, Saved::input, 1},
    {"Div", lower_product},
    {"Elu", lower_unary, CastPolicy::natural, Saved::result, 0, true},
    {"Equal", lower_comparison},
    {"Erf", lower_unary, CastPolicy::natural, Saved::input, 3},
    {"Exp", lower_unary, CastPolicy::full, Saved::result, 0},
    {"Floor", lower_unary},
    {"Gelu", lower_unary, CastPolicy::natural, Saved::input, 0},
    {"Greater", lower_comparison},
    {"GreaterOrEqual", lower_comparison},
    {"HardSigmoid", lower_unary, CastPolicy::natural, Saved::input, 0, true},
    {"HardSwish", lower_unary, CastPolicy::natural, Saved::input, 0, true},
    {"IsInf", lower_comparison},
    {"IsNaN", lower_comparison},
    {"LeakyRelu", lower_unary, CastPolicy::natural, Saved::result, 0, true},
    {"Less", lower_comparison},
    {"LessOrEqual", lower_comparison},
    {"Log", lower_unary, CastPolicy::full, Saved::input, 0},
    {"Max", lower_binary, CastPolicy::natural, Saved::input, 1},
    {"Min", lower_binary, CastPolicy::natural, Saved::input, 1},
    {"Mish", lower_unary, CastPolicy::natural, Saved::input, 0, true},
    {"Mod", lower_binary, CastPolicy::natural, Saved::input, 0},
    {"Mul", lower_product},
    {"Neg", lower_unary},
    {"Not", lower_comparison},
    {"Or", lower_comparison},
    {"PRelu", lower_binary, CastPolicy::natural, Saved::input, 0},
    {"Pow", lower_unary, CastPolicy::full, Saved::input, 2},
    {"Reciprocal", lower_unary, CastPolicy::full, Saved::result, 1},
    {"Relu", lower_unary, CastPolicy::natural, Saved::result, 0, true},
    {"Round", lower_unary},
    {"Selu", lower_unary, CastPolicy::natural, Saved::result, 0, true},
    {"Sigmoid", lower_unary, CastPolicy::natural, Saved::result, 0},
    {"Sign", lower_unary},
    {"Sin", lower_unary, CastPolicy::natural, Saved::input, 1},
    {"Sinh", lower_unary, CastPolicy::full, Saved::input, 1},
    {"Softplus", lower_unary, CastPolicy::full, Saved::input, 0},
    {"Softsign", lower_unary, CastPolicy::natural, Saved::input, 2},
    {"Sqrt", lower_unary, CastPolicy::natural, Saved::result, 1},
    {"Sub", lower_sum},
    {"Sum", lower_sum},
    {"Tan", lower_unary, CastPolicy::full, Saved::result, 2},
    {"Tanh", lower_unary, CastPolicy::natural, Saved::result, 0},
    {"ThresholdedRelu", lower_unary, CastPolicy::natural, Saved::input, 0},
    {"Where", lower_where},
    {"Xor", lower_comparison},
};

}  // namespace

void lower_unary(Lowering& l, const Operator& op, const LoweringRule& rule) {
  lower_unary(l, l.input(op, 0), l.output(op, 0), op, rule);
}

void lower_unary(Lowering& l, TensorId input, TensorId output, const Operator& op, const LoweringRule& rule) {
  ValueId x = l.value(input);
  if (x == kNoValue) return;
  const DataType type = result_type(l, op, {x}, rule.cast);
  if (runs_in_place(l, input, rule) && l.at(x).type == type) {
    // In place: the result takes the input's memory; a backward pass that needs the input keeps a copy of it.
    l.begin();
    if (rule.saved == Saved::input && l.needs_gradient(x)) l.save(l.make_like(x, type));
    Value v = l.at(x);
    const ValueId result = l.alias(x, v);
    if (rule.saved == Saved::result) l.save(result);
    name_unary(l, x, v, rule);
    l.backward_gradient(x);
    l.bind(output, result);
    return l.end({result});
  }
  x = l.cast(x, type);
  l.begin();
  const ValueId result = l.make(output, type, l.needs_gradient(x));
  l.lay_out_like(result, x);
  if (rule.saved == Saved::input) l.save(x);
  if (rule.saved == Saved::result) l.save(result);
  for (int i = 0; i < rule.backward_scratch; ++i) l.backward_scratch(l.at(result).bytes());
  name_unary(l, x, l.at(result), rule);
  l.backward_gradient(x);
  l.end({result});
}

std::span<const LoweringRule> elementwise_rules() {
  return kElementwiseRules;
}

}  // namespace plimsoll::program
