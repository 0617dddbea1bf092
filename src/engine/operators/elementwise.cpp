#include <array>

#include <ATen/ops/where.h>

#include "engine/operators/forms.hpp"

namespace plimsoll::engine {
namespace {

using at::Tensor;

// Before operator set 7 the second operand was aligned with the first from `axis` on, not from the right.
Tensor aligned(const Tensor& y, std::int64_t axis, std::int64_t rank) {
  const std::int64_t trailing = rank - wrapped(axis, rank) - y.dim();
  if (trailing <= 0) return y;
  Integers sizes = sizes_of(y);
  sizes.insert(sizes.end(), static_cast<std::size_t>(trailing), 1);
  return y.reshape(sizes);
}

/// Arithmetic and comparisons of two tensors.
template <auto function>
Result<Kernel> broadcast(const Preparation& p) {
  if (p.opset() < 7 && p.integer("broadcast", 0) != 0 && p.has_attribute("axis"))
    return [axis = p.integer("axis", 0)](Call& c) {
      c.out(0, function(c.in(0), aligned(c.in(1), axis, c.in(0).dim())));
    };
  return [](Call& c) { c.out(0, function(c.in(0), c.in(1))); };
}

/// The same where the result may overwrite the first operand, if it has the result's shape and type.
template <auto function, auto in_place>
Result<Kernel> broadcast_over(const Preparation& p) {
  if (!p.in_place() || p.opset() < 7) return broadcast<function>(p);
  return [](Call& c) {
    Tensor x = c.in(0);
    const Tensor& y = c.in(1);
    if (x.scalar_type() != y.scalar_type() || (y.dim() != 0 && x.sizes() != y.sizes()))
      return c.out(0, function(x, y));
    in_place(x, y);
    c.out(0, std::move(x));
  };
}

/// The result is laid out as the first operand is. Of a sum of tokens with those of an attention, whose first
/// dimensions are exchanged in memory, that is the one in order, as attention kernels of the framework leave
/// it.
Tensor add(const Tensor& x, const Tensor& y) {
  return x.dim() == 3 && !x.is_contiguous() && y.is_contiguous() && x.sizes() == y.sizes() ? y.add(x)
                                                                                           : x.add(y);
}
void add_over(Tensor& x, const Tensor& y) {
  x.add_(y);
}
Tensor subtract(const Tensor& x, const Tensor& y) {
  return x.sub(y);
}
void subtract_over(Tensor& x, const Tensor& y) {
  x.sub_(y);
}
Tensor multiply(const Tensor& x, const Tensor& y) {
  return x.mul(y);
}
void multiply_over(Tensor& x, const Tensor& y) {
  x.mul_(y);
}
/// Integers are divided towards zero.
Tensor divide(const Tensor& x, const Tensor& y) {
  return is_floating(x) || is_floating(y) ? x.div(y) : x.div(y, "trunc");
}

/// The result has the base's type, whatever the exponent's.
Result<Kernel> prepare_pow(const Preparation& p) {
  const auto exponent = p.known_numbers(1);
  if (exponent && exponent->size() == 1 && p.rank(1) == 0)
    return [e = exponent->front()](Call& c) {
      const Tensor& x = c.in(0);
      c.out(0, is_floating(x) ? x.pow(e) : x.to(at::kDouble).pow(e).to(x.scalar_type()));
    };
  return broadcast<[](const Tensor& x, const Tensor& y) {
    const bool integers = !is_floating(x) && !is_floating(y);
    // ATen refuses integers to negative integer powers.
    return integers ? x.to(at::kDouble).pow(y).to(x.scalar_type()) : x.pow(y).to(x.scalar_type());
  }>(p);
}

Result<Kernel> prepare_mod(const Preparation& p) {
  if (p.integer("fmod", 0) != 0)
    return broadcast<[](const Tensor& x, const Tensor& y) { return x.fmod(y); }>(p);
  return broadcast<[](const Tensor& x, const Tensor& y) { return x.remainder(y); }>(p);
}

Result<Kernel> prepare_bit_shift(const Preparation& p) {
  if (p.text("direction", "") == "LEFT")
    return broadcast<[](const Tensor& x, const Tensor& y) { return x.__lshift__(y); }>(p);
  return broadcast<[](const Tensor& x, const Tensor& y) { return x.__rshift__(y); }>(p);
}

/// Any number of operands, two at a time.
template <auto function>
Result<Kernel> folded(const Preparation&) {
  return [](Call& c) {
    Tensor total = c.in(0);
    for (std::size_t i = 1; i < c.inputs(); ++i) total = function(total, c.in(i));
    c.out(0, std::move(total));
  };
}

Result<Kernel> prepare_mean(const Preparation&) {
  return [](Call& c) {
    Tensor total = c.in(0);
    for (std::size_t i = 1; i < c.inputs(); ++i) total = total.add(c.in(i));
    c.out(0, total.div(static_cast<double>(c.inputs())));
  };
}

Result<Kernel> prepare_is_inf(const Preparation& p) {
  const bool negative = p.integer("detect_negative", 1) != 0, positive = p.integer("detect_positive", 1) != 0;
  if (negative && positive) return unary<[](const Tensor& x) { return x.isinf(); }>(p);
  if (negative) return unary<[](const Tensor& x) { return x.isneginf(); }>(p);
  if (positive) return unary<[](const Tensor& x) { return x.isposinf(); }>(p);
  return unary<[](const Tensor& x) { return x.isinf().zero_(); }>(p);
}

Result<Kernel> prepare_cast(const Preparation& p) {
  if (p.type(0) == network::DataType::string) return fail("tensors of strings cannot be computed with");
  const Result<at::ScalarType> type = stored_type(p, p.integer("to", 0));
  PLIMSOLL_TRY(type);
  return [type = *type](Call& c) { c.out(0, c.in(0).to(type)); };
}

Result<Kernel> prepare_cast_like(const Preparation& p) {
  if (p.type(0) == network::DataType::string || p.type(1) == network::DataType::string)
    return fail("tensors of strings cannot be computed with");
  return [](Call& c) { c.out(0, c.in(0).to(c.where_it_lies(1).scalar_type())); };
}

/// ATen rounds integers to themselves only where it has a kernel for them.
template <auto function>
Result<Kernel> rounding(const Preparation&) {
  return [](Call& c) { c.out(0, is_floating(c.in(0)) ? function(c.in(0)) : c.in(0)); };
}

/// Squares of the whole numbers are whole; their roots and the like need reals.
Tensor reciprocal(const Tensor& x) {
  return is_floating(x) ? x.reciprocal() : x.to(at::kDouble).reciprocal().to(x.scalar_type());
}

#define PLIMSOLL_METHOD(name) [](const Tensor& x) { return x.name(); }
#define PLIMSOLL_METHOD_OF_TWO(name) [](const Tensor& x, const Tensor& y) { return x.name(y); }

constexpr auto kElementwiseRows = std::to_array<OperatorRow>({
    {"Abs", unary<PLIMSOLL_METHOD(abs)>, "", kShapes},
    {"Acos", unary<PLIMSOLL_METHOD(acos)>},
    {"Acosh", unary<PLIMSOLL_METHOD(acosh)>},
    {"Add", broadcast_over<add, add_over>, "", kShapes},
    {"And", broadcast<PLIMSOLL_METHOD_OF_TWO(logical_and)>, "", kShapes},
    {"Asin", unary<PLIMSOLL_METHOD(asin)>},
    {"Asinh", unary<PLIMSOLL_METHOD(asinh)>},
    {"Atan", unary<PLIMSOLL_METHOD(atan)>},
    {"Atanh", unary<PLIMSOLL_METHOD(atanh)>},
    {"BitShift", prepare_bit_shift, "", kShapes},
    {"BitwiseAnd", broadcast<PLIMSOLL_METHOD_OF_TWO(bitwise_and)>, "", kShapes},
    {"BitwiseNot", unary<PLIMSOLL_METHOD(bitwise_not)>, "", kShapes},
    {"BitwiseOr", broadcast<PLIMSOLL_METHOD_OF_TWO(bitwise_or)>, "", kShapes},
    {"BitwiseXor", broadcast<PLIMSOLL_METHOD_OF_TWO(bitwise_xor)>, "", kShapes},
    {"Cast", prepare_cast, "", kShapes},
    {"CastLike", prepare_cast_like, "", kShapes},
    {"Ceil", rounding<PLIMSOLL_METHOD(ceil)>, "", kShapes},
    {"Cos", unary<PLIMSOLL_METHOD(cos)>},
    {"Cosh", unary<PLIMSOLL_METHOD(cosh)>},
    {"Div", broadcast<divide>, "", kShapes},
    {"Equal", broadcast<PLIMSOLL_METHOD_OF_TWO(eq)>, "", kShapes},
    {"Erf", unary<PLIMSOLL_METHOD(erf)>},
    {"Exp", unary<PLIMSOLL_METHOD(exp)>, "", kShapes},
    {"Floor", rounding<PLIMSOLL_METHOD(floor)>, "", kShapes},
    {"Greater", broadcast<PLIMSOLL_METHOD_OF_TWO(gt)>, "", kShapes},
    {"GreaterOrEqual", broadcast<PLIMSOLL_METHOD_OF_TWO(ge)>, "", kShapes},
    {"IsInf", prepare_is_inf},
    {"IsNaN", unary<PLIMSOLL_METHOD(isnan)>},
    {"Less", broadcast<PLIMSOLL_METHOD_OF_TWO(lt)>, "", kShapes},
    {"LessOrEqual", broadcast<PLIMSOLL_METHOD_OF_TWO(le)>, "", kShapes},
    {"Log", unary<PLIMSOLL_METHOD(log)>, "", kShapes},
    {"Max", folded<PLIMSOLL_METHOD_OF_TWO(maximum)>, "", kShapes},
    {"Mean", prepare_mean},
    {"Min", folded<PLIMSOLL_METHOD_OF_TWO(minimum)>, "", kShapes},
    {"Mod", prepare_mod, "", kShapes},
    {"Mul", broadcast_over<multiply, multiply_over>, "", kShapes},
    {"Neg", unary<PLIMSOLL_METHOD(neg)>, "", kShapes},
    {"Not", unary<PLIMSOLL_METHOD(logical_not)>, "", kShapes},
    {"Or", broadcast<PLIMSOLL_METHOD_OF_TWO(logical_or)>, "", kShapes},
    {"Pow", prepare_pow, "", kShapes},
    {"Reciprocal", unary<reciprocal>, "", kShapes},
    {"Round", rounding<PLIMSOLL_METHOD(round)>, "", kShapes},
    {"Sign", unary<PLIMSOLL_METHOD(sign)>, "", kShapes},
    {"Sin", unary<PLIMSOLL_METHOD(sin)>},
    {"Sinh", unary<PLIMSOLL_METHOD(sinh)>},
    {"Sqrt", unary<PLIMSOLL_METHOD(sqrt)>, "", kShapes},
    {"Sub", broadcast_over<subtract, subtract_over>, "", kShapes},
    {"Sum", folded<add>},
    {"Tan", unary<PLIMSOLL_METHOD(tan)>},
    {"Where", plain<[](Call& c) { c.out(0, at::where(c.in(0), c.in(1), c.in(2))); }>, "", kShapes},
    {"Xor", broadcast<PLIMSOLL_METHOD_OF_TWO(logical_xor)>, "", kShapes},
});

}  // namespace

std::span<const OperatorRow> elementwise_rows() {
  return kElementwiseRows;
}

}  // namespace plimsoll::engine
