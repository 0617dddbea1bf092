#include "network/rules/axes.hpp"

#include <algorithm>

namespace plimsoll::network {

IntegerList integer_list(const InferenceContext& c, std::string_view attribute, std::size_t input) {
  IntegerList out;
  if (const Attribute* a = c.attribute(attribute); a != nullptr && a->kind == Attribute::Kind::integers) {
    out.given = out.known = true;
    out.values = c.network().integers_of(*a);
    out.length = out.values.size();
    return out;
  }
  if (!c.has(input)) return out;
  out.given = true;
  if (auto values = c.integers(input)) {
    out.known = true;
    out.storage = std::move(*values);
    out.values = out.storage;
    out.length = out.values.size();
  } else if (const auto n = length_of(c, input)) {
    out.length = static_cast<std::size_t>(*n);
  }
  return out;
}

Result<AxisSet> axis_set(std::span<const std::int64_t> axes, std::size_t rank) {
  AxisSet out;
  for (const std::int64_t a : axes) {
    const Result<std::size_t> axis = InferenceContext::axis(a, rank);
    PLIMSOLL_TRY(axis);
    if (out.test(*axis)) return fail("axis {} is named twice", a);
    out.set(*axis);
  }
  return out;
}

std::optional<std::int64_t> length_of(const InferenceContext& c, std::size_t input) {
  if (!c.ranked(input)) return std::nullopt;
  const auto dims = c.dims(input);
  if (dims.empty()) return 1;
  return dims.size() == 1 && dims[0].exact() ? std::optional(dims[0].value()) : std::nullopt;
}

std::int64_t highest(const Symbols& symbols, std::span<const Dim> dims) {
  std::int64_t high = 0;
  for (const Dim d : dims) high = std::max(high, symbols.bounds(d).high);
  return high;
}

Shape unknown_shape(InferenceContext& c, std::int64_t rank, std::int64_t high) {
  Shape out;
  const std::int64_t pushed = std::min<std::int64_t>(rank, kMaxRank + 1);
  for (std::int64_t i = 0; i < pushed; ++i) out.push_back(c.unknown("extent", {0, high}));
  return out;
}

std::int64_t most_elements(const Symbols& symbols, std::span<const Dim> dims) {
  std::int64_t n = 1;
  for (const Dim d : dims) {
    const std::int64_t high = symbols.bounds(d).high;
    if (high == 0) return 0;
    if (high == kUnbounded || __builtin_mul_overflow(n, high, &n)) n = kUnbounded;
  }
  return n;
}

}  // namespace plimsoll::network
