#pragma once
#include <limits>
#include <string_view>

#include "network/inference.hpp"

/// What many rules say about extents and types, in one word each. Private to network/rules.
namespace plimsoll::network {

/// Extents that cannot be equal; a symbolic one is given the benefit of the doubt.
[[nodiscard]] inline bool differ(Dim a, Dim b) {
  return a.exact() && b.exact() && a != b;
}

/// The exact one of two extents that must be equal.
[[nodiscard]] inline Dim agreed(Dim a, Dim b) {
  return a.exact() ? a : b;
}

/// `d` plus a number of either sign; invalid where that is negative or too large.
[[nodiscard]] inline Dim shifted(Symbols& symbols, Dim d, std::int64_t by) {
  if (by >= 0) return symbols.plus(d, Dim::of(by));
  return by == std::numeric_limits<std::int64_t>::min() ? Dim::invalid() : symbols.minus(d, Dim::of(-by));
}

/// An output of an input's shape.
inline void set_like(InferenceContext& c, std::size_t output, std::size_t input, DataType type) {
  if (c.ranked(input))
    c.set(output, type, Shape(c.dims(input)));
  else
    c.set_unranked(output, type);
}

/// The rule of operators whose one output is as their first input.
[[nodiscard]] inline Status like_first(InferenceContext& c) {
  set_like(c, 0, 0, c.type(0));
  return {};
}

/// The shape of an input whose rank the operator prescribes: where it is not known, unknown extents.
[[nodiscard]] inline Result<Shape> shape_of_rank(InferenceContext& c, std::size_t input, std::size_t rank,
                                                 std::string_view name) {
  if (c.ranked(input)) {
    if (c.rank(input) != rank)
      return fail("{} has the shape {}; it must have {} dimensions", name, c.show(c.dims(input)), rank);
    return Shape(c.dims(input));
  }
  Shape unknown;
  for (std::size_t i = 0; i < rank; ++i) unknown.push_back(c.unknown(name, {}));
  return unknown;
}

/// An attribute that holds the number of an element type.
[[nodiscard]] inline Result<DataType> type_attribute(InferenceContext& c, std::string_view name,
                                                     DataType otherwise) {
  const std::int64_t number = c.integer(name, static_cast<std::int64_t>(otherwise));
  const auto type = data_type_from_number(number);
  if (!type) return fail("{} is {}, which is not an element type", name, number);
  return *type;
}

/// An integer attribute that must be positive.
[[nodiscard]] inline Result<std::int64_t> positive_attribute(InferenceContext& c, std::string_view name,
                                                             std::int64_t otherwise) {
  const std::int64_t n = c.integer(name, otherwise);
  if (n <= 0) return fail("{} is {}; it must be positive", name, n);
  return n;
}

/// The single integer that an input holds (a length, an axis), as an extent; an unknown where it is not
/// known.
[[nodiscard]] inline Result<Dim> extent_input(InferenceContext& c, std::size_t input, std::string_view name,
                                              Interval bounds = {}) {
  if (!c.has_value(input) || c.value(input).size() != 1) return c.unknown(name, bounds);
  const Scalar s = c.value(input)[0];
  const Dim d = s.dim();
  if (!d.valid()) return fail("{} is {}; it must be an integer that is not negative", name, s.real());
  return d;
}

}  // namespace plimsoll::network
