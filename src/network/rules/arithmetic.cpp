#include <algorithm>
#include <cmath>

#include "network/inference.hpp"
#include "network/operators.hpp"
#include "network/rules/extents.hpp"
#include "network/rules/folding.hpp"

namespace plimsoll::network {
namespace {

DataType first_known(DataType a, DataType b) {
  return a != DataType::undefined ? a : b;
}

// One element.

Folded same(Symbols&, DataType, const Scalar& x) {
  return x;
}

Folded negative(Symbols& symbols, DataType type, const Scalar& x) {
  if (x.is_symbol()) return std::nullopt;
  if (is_float(type)) return as_type(type, Scalar::real(-x.real()));
  return fold_subtract(symbols, type, Scalar::integer(0), x);
}
Folded absolute(Symbols& symbols, DataType type, const Scalar& x) {
  if (x.is_symbol()) return x;
  if (x.is_real()) return as_type(type, Scalar::real(std::fabs(x.real())));
  return x.integer() < 0 ? negative(symbols, type, x) : x;
}
Folded rectified(Symbols&, DataType, const Scalar& x) {
  if (x.is_real()) return Scalar::real(std::max(0.0, x.real()));
  if (x.is_integer()) return Scalar::integer(std::max<std::int64_t>(0, x.integer()));
  return x;
}
Folded sign(Symbols& symbols, DataType type, const Scalar& x) {
  if (x.is_symbol())
    return symbols.bounds(x.dim()).low > 0 ? as_type(type, Scalar::integer(1)) : std::nullopt;
  if (x.is_real()) return as_type(type, Scalar::real(x.real() > 0 ? 1 : x.real() < 0 ? -1 : x.real()));
  return Scalar::integer(x.integer() > 0 ? 1 : x.integer() < 0 ? -1 : 0);
}
Folded negation(Symbols& symbols, DataType, const Scalar& x) {
  const Folded b = cast(symbols, DataType::boolean, x);
  return b ? Folded(Scalar::integer(1 - b->integer())) : std::nullopt;
}
Folded complement(Symbols&, DataType type, const Scalar& x) {
  return x.is_integer() ? as_type(type, Scalar::integer(~x.integer())) : std::nullopt;
}

/// Rounding: whole numbers and extents stay what they are.
template <double (*F)(double)>
Folded rounded(Symbols&, DataType type, const Scalar& x) {
  return x.is_real() ? as_type(type, Scalar::real(F(x.real()))) : Folded(x);
}
/// Functions of reals; an extent would not stay one.
template <double (*F)(double)>
Folded real_function(Symbols&, DataType type, const Scalar& x) {
  if (x.is_symbol() || !is_float(type)) return std::nullopt;
  return as_type(type, Scalar::real(F(x.real())));
}
double floor_of(double x) {
  return std::floor(x);
}
double ceil_of(double x) {
  return std::ceil(x);
}
double round_of(double x) {
  return std::nearbyint(x);
}  // halves to even, as ONNX has it
double sqrt_of(double x) {
  return std::sqrt(x);
}
double exp_of(double x) {
  return std::exp(x);
}
double log_of(double x) {
  return std::log(x);
}
double reciprocal_of(double x) {
  return 1 / x;
}

// Two elements.

template <std::int64_t (*F)(std::int64_t, std::int64_t)>
Folded bitwise(Symbols&, DataType type, const Scalar& x, const Scalar& y) {
  return x.is_integer() && y.is_integer() ? as_type(type, Scalar::integer(F(x.integer(), y.integer())))
                                          : std::nullopt;
}
std::int64_t and_of(std::int64_t x, std::int64_t y) {
  return x & y;
}
std::int64_t or_of(std::int64_t x, std::int64_t y) {
  return x | y;
}
std::int64_t xor_of(std::int64_t x, std::int64_t y) {
  return x ^ y;
}

Folded greater(Symbols& symbols, DataType type, const Scalar& x, const Scalar& y) {
  return fold_less(symbols, type, y, x);
}
Folded greater_or_equal(Symbols& symbols, DataType type, const Scalar& x, const Scalar& y) {
  return fold_less_or_equal(symbols, type, y, x);
}

// Rules.

template <UnaryFold F>
Status unary(InferenceContext& c) {
  set_like(c, 0, 0, c.type(0));
  if (c.has_value(0)) fold_elements(c, F, c.type(0));
  return {};
}

Status predicate(InferenceContext& c) {
  set_like(c, 0, 0, DataType::boolean);
  return {};
}
Status logical_not(InferenceContext& c) {
  set_like(c, 0, 0, DataType::boolean);
  if (c.has_value(0)) fold_elements(c, negation, DataType::boolean);
  return {};
}

Status identity(InferenceContext& c) {
  if (c.kind(0) == ValueKind::tensor) return unary<same>(c);
  c.set(0, c.copy(0));
  return {};
}

Status cast_to(InferenceContext& c, DataType to) {
  set_like(c, 0, 0, to);
  if (c.has_value(0)) fold_elements(c, cast, to);
  return {};
}
Status cast_rule(InferenceContext& c) {
  const Attribute* to = c.attribute("to");
  if (to == nullptr || to->kind != Attribute::Kind::integer) return fail("the attribute 'to' is missing");
  const auto type = data_type_from_number(to->integer);
  if (!type || *type == DataType::undefined)
    return fail("'to' is {}, which is not an element type", to->integer);
  return cast_to(c, *type);
}
Status cast_like(InferenceContext& c) {
  return cast_to(c, c.type(1));
}

Status binary_of_type(InferenceContext& c, BinaryFold fold, DataType operand, DataType result) {
  if (!c.ranked(0) || !c.ranked(1)) {
    c.set_unranked(0, result);
    return {};
  }
  const Result<Shape> shape = c.broadcast(c.dims(0), c.dims(1));
  PLIMSOLL_TRY(shape);
  c.set(0, result, *shape);
  if (fold != nullptr) fold_elements(c, fold, operand, *shape);
  return {};
}

template <BinaryFold F>
Status binary(InferenceContext& c) {
  const DataType type = first_known(c.type(0), c.type(1));
  return binary_of_type(c, F, type, type);
}
template <BinaryFold F>
Status comparison(InferenceContext& c) {
  return binary_of_type(c, F, DataType::boolean, DataType::boolean);
}
Status power(InferenceContext& c) {
  return binary_of_type(c, fold_power, c.type(0), c.type(0));
}
Status modulo(InferenceContext& c) {
  const DataType type = first_known(c.type(0), c.type(1));
  return binary_of_type(c, c.integer("fmod", 0) != 0 ? fold_remainder : fold_modulo, type, type);
}

/// Max, Min, Sum and Mean: any number of inputs, folded from left to right.
Status variadic_of(InferenceContext& c, BinaryFold fold) {
  DataType type = DataType::undefined;
  Shape shape;
  bool ranked = true, known = fold != nullptr;
  for (std::size_t i = 0; i < c.inputs(); ++i) {
    type = first_known(type, c.type(i));
    ranked = ranked && c.ranked(i);
    known = known && c.has_value(i);
    if (!ranked) continue;
    const Result<Shape> joined = c.broadcast(shape.dims(), c.dims(i));
    PLIMSOLL_TRY(joined);
    shape = *joined;
  }
  if (!ranked) {
    c.set_unranked(0, type);
    return {};
  }
  c.set(0, type, shape);
  const auto n = small_count(shape.dims());
  if (!known || !n) return {};
  std::vector<Scalar> total;
  for (std::size_t i = 0; i < c.inputs(); ++i) {
    const auto values = contents(c, i);
    if (!values) return {};
    std::vector<Scalar> next = pick(*values, 0, broadcast_strides(c.dims(i), shape.dims()), shape.dims());
    for (std::size_t k = 0; k < *n && i > 0; ++k) {
      const Folded folded = fold(c.symbols(), type, total[k], next[k]);
      if (!folded) return {};
      next[k] = *folded;
    }
    total = std::move(next);
  }
  c.set_value(0, total);
  return {};
}
template <BinaryFold F>
Status variadic(InferenceContext& c) {
  return variadic_of(c, F);
}

Status where(InferenceContext& c) {
  const DataType type = first_known(c.type(1), c.type(2));
  if (!c.ranked(0) || !c.ranked(1) || !c.ranked(2)) {
    c.set_unranked(0, type);
    return {};
  }
  const Result<Shape> branches = c.broadcast(c.dims(1), c.dims(2));
  PLIMSOLL_TRY(branches);
  const Result<Shape> shape = c.broadcast(c.dims(0), branches->dims());
  PLIMSOLL_TRY(shape);
  c.set(0, type, *shape);
  if (!c.has_value(0) || !c.has_value(1) || !c.has_value(2)) return {};
  const auto n = small_count(shape->dims());
  const auto condition = contents(c, 0), x = contents(c, 1), y = contents(c, 2);
  if (!n || !condition || !x || !y) return {};
  const auto spread = [&](std::span<const Scalar> values, std::size_t input) {
    return pick(values, 0, broadcast_strides(c.dims(input), shape->dims()), shape->dims());
  };
  const std::vector<Scalar> chosen = spread(*condition, 0), left = spread(*x, 1);
  std::vector<Scalar> out = spread(*y, 2);
  for (std::size_t i = 0; i < *n; ++i) {
    const Folded b = cast(c.symbols(), DataType::boolean, chosen[i]);
    if (!b) return {};
    if (b->integer() != 0) out[i] = left[i];
  }
  c.set_value(0, out);
  return {};
}

/// Bounds are attributes up to opset 10, inputs after.
Status clip(InferenceContext& c) {
  const DataType type = c.type(0);
  set_like(c, 0, 0, type);
  const auto values = contents(c, 0);
  if (!values) return {};
  const auto bound = [&c](std::size_t input, std::string_view name) -> std::optional<Scalar> {
    if (const Attribute* a = c.attribute(name); a != nullptr && a->kind == Attribute::Kind::real)
      return Scalar::real(a->real);
    return single(c, input);
  };
  const auto low = bound(1, "min"), high = bound(2, "max");
  if ((c.has(1) && !low) || (c.has(2) && !high)) return {};
  std::vector<Scalar> out;
  out.reserve(values->size());
  for (const Scalar& x : *values) {
    Folded clipped = x;
    if (low) clipped = fold_maximum(c.symbols(), type, *clipped, *low);
    if (clipped && high) clipped = fold_minimum(c.symbols(), type, *clipped, *high);
    if (!clipped) return {};
    out.push_back(*clipped);
  }
  c.set_value(0, out);
  return {};
}

constexpr OperatorInfo kArithmeticOperators[] = {
    {"Abs", 1, 1, 1, unary<absolute>},
    {"Acos", 1, 1, 1, like_first},
    {"Acosh", 1, 1, 1, like_first},
    {"Add", 2, 2, 1, binary<fold_add>},
    {"And", 2, 2, 1, comparison<bitwise<and_of>>},
    {"Asin", 1, 1, 1, like_first},
    {"Asinh", 1, 1, 1, like_first},
    {"Atan", 1, 1, 1, like_first},
    {"Atanh", 1, 1, 1, like_first},
    {"BitShift", 2, 2, 1, binary<nullptr>},
    {"BitwiseAnd", 2, 2, 1, binary<bitwise<and_of>>},
    {"BitwiseNot", 1, 1, 1, unary<complement>},
    {"BitwiseOr", 2, 2, 1, binary<bitwise<or_of>>},
    {"BitwiseXor", 2, 2, 1, binary<bitwise<xor_of>>},
    {"Cast", 1, 1, 1, cast_rule},
    {"CastLike", 2, 2, 1, cast_like},
    {"Ceil", 1, 1, 1, unary<rounded<ceil_of>>},
    {"Celu", 1, 1, 1, like_first},
    {"Clip", 1, 3, 1, clip},
    {"Cos", 1, 1, 1, like_first},
    {"Cosh", 1, 1, 1, like_first},
    {"Div", 2, 2, 1, binary<fold_divide>},
    {"Elu", 1, 1, 1, like_first},
    {"Equal", 2, 2, 1, comparison<fold_equal>},
    {"Erf", 1, 1, 1, like_first},
    {"Exp", 1, 1, 1, unary<real_function<exp_of>>},
    {"Floor", 1, 1, 1, unary<rounded<floor_of>>},
    {"Gelu", 1, 1, 1, like_first},
    {"Greater", 2, 2, 1, comparison<greater>},
    {"GreaterOrEqual", 2, 2, 1, comparison<greater_or_equal>},
    {"HardSigmoid", 1, 1, 1, like_first},
    {"HardSwish", 1, 1, 1, like_first},
    {"Identity", 1, 1, 1, identity},
    {"IsInf", 1, 1, 1, predicate},
    {"IsNaN", 1, 1, 1, predicate},
    {"LeakyRelu", 1, 1, 1, like_first},
    {"Less", 2, 2, 1, comparison<fold_less>},
    {"LessOrEqual", 2, 2, 1, comparison<fold_less_or_equal>},
    {"Log", 1, 1, 1, unary<real_function<log_of>>},
    {"Max", 1, kAny, 1, variadic<fold_maximum>},
    {"Mean", 1, kAny, 1, variadic<nullptr>},
    {"Min", 1, kAny, 1, variadic<fold_minimum>},
    {"Mish", 1, 1, 1, like_first},
    {"Mod", 2, 2, 1, modulo},
    {"Mul", 2, 2, 1, binary<fold_multiply>},
    {"Neg", 1, 1, 1, unary<negative>},
    {"Not", 1, 1, 1, logical_not},
    {"Or", 2, 2, 1, comparison<bitwise<or_of>>},
    {"PRelu", 2, 2, 1, like_first},
    {"Pow", 2, 2, 1, power},
    {"Reciprocal", 1, 1, 1, unary<real_function<reciprocal_of>>},
    {"Relu", 1, 1, 1, unary<rectified>},
    {"Round", 1, 1, 1, unary<rounded<round_of>>},
    {"Selu", 1, 1, 1, like_first},
    {"Shrink", 1, 1, 1, like_first},
    {"Sigmoid", 1, 1, 1, like_first},
    {"Sign", 1, 1, 1, unary<sign>},
    {"Sin", 1, 1, 1, like_first},
    {"Sinh", 1, 1, 1, like_first},
    {"Softplus", 1, 1, 1, like_first},
    {"Softsign", 1, 1, 1, like_first},
    {"Sqrt", 1, 1, 1, unary<real_function<sqrt_of>>},
    {"Sub", 2, 2, 1, binary<fold_subtract>},
    {"Sum", 1, kAny, 1, variadic<fold_add>},
    {"Swish", 1, 1, 1, like_first},
    {"Tan", 1, 1, 1, like_first},
    {"Tanh", 1, 1, 1, like_first},
    {"ThresholdedRelu", 1, 1, 1, like_first},
    {"Where", 3, 3, 1, where},
    {"Xor", 2, 2, 1, comparison<bitwise<xor_of>>},
};

}  // namespace

std::span<const OperatorInfo> arithmetic_operators() {
  return kArithmeticOperators;
}

}  // namespace plimsoll::network
