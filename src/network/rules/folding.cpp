#include "network/rules/folding.hpp"

#include <cmath>

namespace plimsoll::network {
namespace {

struct IntegerRange {
  std::int64_t low;
  std::int64_t high;
};

IntegerRange range_of(DataType type) {
  switch (type) {
    case DataType::int8: return {-128, 127};
    case DataType::uint8: return {0, 255};
    case DataType::int16: return {-32768, 32767};
    case DataType::uint16: return {0, 65535};
    case DataType::int32:
      return {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};
    case DataType::uint32: return {0, std::numeric_limits<std::uint32_t>::max()};
    case DataType::int4: return {-8, 7};
    case DataType::uint4: return {0, 15};
    case DataType::boolean: return {0, 1};
    case DataType::uint64: return {0, std::numeric_limits<std::int64_t>::max()};
    default: return {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
  }
}

Folded integer_result(DataType type, std::int64_t n) {
  return as_type(type, Scalar::integer(n));
}
Folded real_result(DataType type, double x) {
  return as_type(type, Scalar::real(x));
}
Folded truth(bool b) {
  return Scalar::integer(b ? 1 : 0);
}

/// A symbolic result; none where the arithmetic left the range of extents.
Folded extent_result(Dim d) {
  return d.valid() ? Folded(Scalar::extent(d)) : std::nullopt;
}

bool symbolic(const Scalar& x, const Scalar& y) {
  return x.is_symbol() || y.is_symbol();
}

/// The scalar as an extent, also where it is a whole real; invalid where it is none.
Dim as_extent(const Scalar& s) {
  if (s.is_symbol()) return s.dim();
  const auto n = whole(s);
  return n ? Dim::of(*n) : Dim::invalid();
}

/// x - y where both are extents. Symbols cannot be negative, so a difference that might be is not known.
Folded difference(Symbols& symbols, Dim x, Dim y) {
  if (!x.valid() || !y.valid()) return std::nullopt;
  if (x != y && symbols.bounds(y).high > symbols.bounds(x).low) return std::nullopt;
  return extent_result(symbols.minus(x, y));
}

}  // namespace

std::optional<std::size_t> small_count(std::span<const Dim> dims) {
  std::int64_t n = 1;
  for (const Dim d : dims) {
    if (!d.exact()) return std::nullopt;
    if (d.value() == 0) return 0;
    // Kept apart from zero extents further on: a huge product may still come to nothing.
    if (__builtin_mul_overflow(n, d.value(), &n)) n = kUnbounded;
  }
  return n <= static_cast<std::int64_t>(kMaxValueElements) ? std::optional(static_cast<std::size_t>(n))
                                                           : std::nullopt;
}

std::optional<std::span<const Scalar>> contents(const InferenceContext& c, std::size_t input) {
  if (!c.has_value(input) || !c.ranked(input)) return std::nullopt;
  const auto values = c.value(input);
  return small_count(c.dims(input)) == values.size() ? std::optional(values) : std::nullopt;
}

std::optional<Scalar> single(const InferenceContext& c, std::size_t input) {
  if (!c.has_value(input)) return std::nullopt;
  const auto values = c.value(input);
  return values.size() == 1 ? std::optional(values.front()) : std::nullopt;
}

std::optional<std::int64_t> whole(const Scalar& s) {
  if (s.is_integer()) return s.integer();
  if (s.is_symbol()) return std::nullopt;
  const double x = s.real();
  if (!(x >= -kTwoTo63 && x < kTwoTo63) || x != std::floor(x)) return std::nullopt;
  return static_cast<std::int64_t>(x);
}

std::optional<Interval> range_of(const Symbols& symbols, const Scalar& s) {
  if (s.is_symbol()) return symbols.bounds(s.dim());
  const auto n = whole(s);
  return n ? std::optional(Interval{*n, *n}) : std::nullopt;
}

Strides strides_of(std::span<const Dim> dims) {
  Strides out;
  std::int64_t step = 1;
  for (std::size_t i = dims.size(); i-- > 0;) {
    out.step[i] = step;
    if (__builtin_mul_overflow(step, dims[i].value(), &step)) step = 0;  // only beside an extent of zero
  }
  return out;
}

Strides broadcast_strides(std::span<const Dim> from, std::span<const Dim> to) {
  const Strides own = strides_of(from);
  Strides out;
  const std::size_t shift = to.size() - from.size();
  for (std::size_t i = 0; i < from.size(); ++i) out.step[shift + i] = from[i].is(1) ? 0 : own.step[i];
  return out;
}

std::vector<Scalar> pick(std::span<const Scalar> values, std::int64_t start, const Strides& strides,
                         std::span<const Dim> to) {
  std::vector<Scalar> out;
  const std::size_t n = small_count(to).value_or(0);
  out.reserve(n);
  std::int64_t index[kMaxRank] = {};
  std::int64_t at = start;
  for (std::size_t k = 0; k < n; ++k) {
    out.push_back(values[static_cast<std::size_t>(at)]);
    for (std::size_t axis = to.size(); axis-- > 0;) {
      at += strides.step[axis];
      if (++index[axis] < to[axis].value()) break;
      at -= strides.step[axis] * to[axis].value();
      index[axis] = 0;
    }
  }
  return out;
}

Folded as_type(DataType type, const Scalar& x) {
  if (x.is_real()) {
    if (!is_float(type)) return std::nullopt;
    return Scalar::real(type == DataType::float32 ? static_cast<double>(static_cast<float>(x.real()))
                                                  : x.real());
  }
  if (x.is_symbol()) return x;
  if (is_float(type)) return as_type(type, Scalar::real(static_cast<double>(x.integer())));
  const IntegerRange r = range_of(type);
  return x.integer() >= r.low && x.integer() <= r.high ? Folded(x) : std::nullopt;
}

Folded cast(Symbols& symbols, DataType to, const Scalar& x) {
  if (to == DataType::boolean) {
    if (!x.is_symbol()) return truth(x.is_real() ? x.real() != 0 : x.integer() != 0);
    if (symbols.bounds(x.dim()).low > 0) return truth(true);
    return std::nullopt;
  }
  if (is_float(to)) return as_type(to, x);
  if (!is_integer(to)) return std::nullopt;
  if (!x.is_real()) return as_type(to, x);
  const double t = std::trunc(x.real());  // towards zero, as every framework does
  if (!(t >= -kTwoTo63 && t < kTwoTo63)) return std::nullopt;
  return integer_result(to, static_cast<std::int64_t>(t));
}

Folded fold_add(Symbols& symbols, DataType type, const Scalar& x, const Scalar& y) {
  if (symbolic(x, y)) {
    const auto left = whole(x), right = whole(y);
    if (right && *right < 0 && *right != std::numeric_limits<std::int64_t>::min())
      return difference(symbols, x.dim(), Dim::of(-*right));
    if (left && *left < 0 && *left != std::numeric_limits<std::int64_t>::min())
      return difference(symbols, y.dim(), Dim::of(-*left));
    return extent_result(symbols.plus(as_extent(x), as_extent(y)));
  }
  if (is_float(type)) return real_result(type, x.real() + y.real());
  std::int64_t sum = 0;
  if (x.is_real() || y.is_real() || __builtin_add_overflow(x.integer(), y.integer(), &sum))
    return std::nullopt;
  return integer_result(type, sum);
}

Folded fold_subtract(Symbols& symbols, DataType type, const Scalar& x, const Scalar& y) {
  if (symbolic(x, y)) {
    if (const auto right = whole(y); right && *right < 0) {
      if (*right == std::numeric_limits<std::int64_t>::min()) return std::nullopt;
      return extent_result(symbols.plus(x.dim(), Dim::of(-*right)));
    }
    return difference(symbols, as_extent(x), as_extent(y));
  }
  if (is_float(type)) return real_result(type, x.real() - y.real());
  std::int64_t result = 0;
  if (x.is_real() || y.is_real() || __builtin_sub_overflow(x.integer(), y.integer(), &result))
    return std::nullopt;
  return integer_result(type, result);
}

Folded fold_multiply(Symbols& symbols, DataType type, const Scalar& x, const Scalar& y) {
  if (symbolic(x, y)) return extent_result(symbols.times(as_extent(x), as_extent(y)));
  if (is_float(type)) return real_result(type, x.real() * y.real());
  std::int64_t product = 0;
  if (x.is_real() || y.is_real() || __builtin_mul_overflow(x.integer(), y.integer(), &product))
    return std::nullopt;
  return integer_result(type, product);
}

Folded fold_divide(Symbols& symbols, DataType type, const Scalar& x, const Scalar& y) {
  if (symbolic(x, y)) {
    // A real quotient of extents is no extent, unless nothing is divided.
    if (is_float(type) && whole(y) != 1) return std::nullopt;
    return extent_result(symbols.divide(as_extent(x), as_extent(y)));
  }
  if (is_float(type)) return real_result(type, x.real() / y.real());
  if (x.is_real() || y.is_real() || y.integer() == 0) return std::nullopt;
  if (y.integer() == -1)
    return fold_subtract(symbols, type, Scalar::integer(0), x);  // the least integer overflows
  return integer_result(type, x.integer() / y.integer());
}

Folded fold_modulo(Symbols& symbols, DataType type, const Scalar& x, const Scalar& y) {
  if (symbolic(x, y)) {
    if (whole(y) == 1) return integer_result(type, 0);
    const auto a = range_of(symbols, x), b = range_of(symbols, y);
    // Below the divisor a number is its own remainder.
    if (a && b && a->low >= 0 && a->high < b->low) return x;
    return std::nullopt;
  }
  if (x.is_real() || y.is_real()) return std::nullopt;
  const std::int64_t n = x.integer(), m = y.integer();
  if (m == 0) return std::nullopt;
  if (m == -1) return integer_result(type, 0);
  const std::int64_t r = n % m;
  return integer_result(type, r != 0 && (r < 0) != (m < 0) ? r + m : r);
}

Folded fold_remainder(Symbols& symbols, DataType type, const Scalar& x, const Scalar& y) {
  if (symbolic(x, y)) return fold_modulo(symbols, type, x, y);
  if (is_float(type)) return real_result(type, std::fmod(x.real(), y.real()));
  if (x.is_real() || y.is_real() || y.integer() == 0) return std::nullopt;
  if (y.integer() == -1) return integer_result(type, 0);
  return integer_result(type, x.integer() % y.integer());
}

Folded fold_power(Symbols& symbols, DataType type, const Scalar& x, const Scalar& y) {
  if (symbolic(x, y)) {
    if (whole(y) == 1) return x;
    if (whole(y) == 2) return fold_multiply(symbols, type, x, x);
    return std::nullopt;
  }
  const double power = std::pow(x.real(), y.real());
  if (is_float(type)) return real_result(type, power);
  // Up to 2^53 the result of pow() is exact where it is a whole number.
  if (!(std::fabs(power) <= 9007199254740992.0)) return std::nullopt;
  return cast(symbols, type, Scalar::real(power));
}

Folded fold_minimum(Symbols& symbols, DataType type, const Scalar& x, const Scalar& y) {
  if (symbolic(x, y)) {
    const Scalar& other = x.is_symbol() ? y : x;
    if (const auto n = whole(other); n && *n < 0) return as_type(type, other);
    return extent_result(symbols.minimum(as_extent(x), as_extent(y)));
  }
  if (x.is_integer() && y.is_integer()) return std::min(x.integer(), y.integer()) == x.integer() ? x : y;
  return real_result(type, x.real() < y.real() || std::isnan(x.real()) ? x.real() : y.real());
}

Folded fold_maximum(Symbols& symbols, DataType type, const Scalar& x, const Scalar& y) {
  if (symbolic(x, y)) {
    if (const auto n = whole(y); n && *n < 0) return x;
    if (const auto n = whole(x); n && *n < 0) return y;
    return extent_result(symbols.maximum(as_extent(x), as_extent(y)));
  }
  if (x.is_integer() && y.is_integer()) return std::max(x.integer(), y.integer()) == x.integer() ? x : y;
  return real_result(type, x.real() > y.real() || std::isnan(x.real()) ? x.real() : y.real());
}

Folded fold_equal(Symbols& symbols, DataType, const Scalar& x, const Scalar& y) {
  if (!symbolic(x, y)) {
    if (x.is_integer() && y.is_integer()) return truth(x.integer() == y.integer());
    return truth(x.real() == y.real());
  }
  if (x == y) return truth(true);
  const auto a = range_of(symbols, x), b = range_of(symbols, y);
  if (!a || !b) return truth(false);  // an extent is never a fraction
  if (a->high < b->low || b->high < a->low) return truth(false);
  return std::nullopt;
}

Folded fold_less(Symbols& symbols, DataType, const Scalar& x, const Scalar& y) {
  if (!symbolic(x, y)) {
    if (x.is_integer() && y.is_integer()) return truth(x.integer() < y.integer());
    return truth(x.real() < y.real());
  }
  if (x == y) return truth(false);
  const auto a = range_of(symbols, x), b = range_of(symbols, y);
  if (!a || !b) return std::nullopt;
  if (a->high < b->low) return truth(true);
  if (b->high != kUnbounded && a->low >= b->high) return truth(false);
  return std::nullopt;
}

Folded fold_less_or_equal(Symbols& symbols, DataType type, const Scalar& x, const Scalar& y) {
  if (!symbolic(x, y)) {
    if (x.is_integer() && y.is_integer()) return truth(x.integer() <= y.integer());
    return truth(x.real() <= y.real());
  }
  const Folded greater = fold_less(symbols, type, y, x);
  if (!greater) return std::nullopt;
  return truth(greater->integer() == 0);
}

void fold_elements(InferenceContext& c, BinaryFold fold, DataType type, const Shape& shape) {
  if (!c.has_value(0) || !c.has_value(1)) return;
  const auto n = small_count(shape.dims());
  const auto x = contents(c, 0), y = contents(c, 1);
  if (!n || !x || !y) return;
  const auto spread = [&](std::span<const Scalar> values, std::size_t input) {
    // As many as the result has: none of them repeats.
    if (values.size() == *n) return std::vector<Scalar>(values.begin(), values.end());
    return pick(values, 0, broadcast_strides(c.dims(input), shape.dims()), shape.dims());
  };
  const std::vector<Scalar> left = spread(*x, 0);
  std::vector<Scalar> out = spread(*y, 1);
  for (std::size_t i = 0; i < *n; ++i) {
    const Folded folded = fold(c.symbols(), type, left[i], out[i]);
    if (!folded) return;
    out[i] = *folded;
  }
  c.set_value(0, out);
}

void fold_elements(InferenceContext& c, UnaryFold fold, DataType type) {
  const auto x = contents(c, 0);
  if (!x) return;
  std::vector<Scalar> out;
  out.reserve(x->size());
  for (const Scalar& s : *x) {
    const Folded folded = fold(c.symbols(), type, s);
    if (!folded) return;
    out.push_back(*folded);
  }
  c.set_value(0, out);
}

}  // namespace plimsoll::network
