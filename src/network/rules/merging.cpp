#include "network/rules/merging.hpp"

#include <algorithm>

namespace plimsoll::network {

Dim merge(InferenceContext& c, Dim a, Dim b) {
  if (a == b) return a;
  const Interval x = c.symbols().bounds(a), y = c.symbols().bounds(b);
  return c.unknown("either", {std::min(x.low, y.low), std::max(x.high, y.high)});
}

Inferred merge(InferenceContext& c, const Inferred& a, const Inferred& b) {
  Inferred out;
  out.type = a.type != DataType::undefined ? a.type : b.type;
  out.kind = a.kind;
  if (a.kind != b.kind) {
    // Only an optional may hold what the other has.
    out.kind = a.kind == ValueKind::optional || b.kind == ValueKind::optional ? ValueKind::optional : a.kind;
    return out;
  }
  if (a.kind == ValueKind::sequence) {
    out.length = merge(c, a.length, b.length);
    // An empty sequence says nothing about elements.
    if (a.length.is(0) || b.length.is(0)) {
      const Inferred& filled = a.length.is(0) ? b : a;
      out.ranked = filled.ranked;
      out.shape = filled.shape;
      return out;
    }
  } else if (a.kind == ValueKind::optional && a.length == b.length) {
    out.length = a.length;
  }
  if (!a.ranked || !b.ranked || a.shape.rank() != b.shape.rank()) return out;
  out.ranked = true;
  for (std::size_t i = 0; i < a.shape.rank(); ++i) out.shape.push_back(merge(c, a.shape[i], b.shape[i]));
  if (a.has_value && b.has_value && a.value == b.value && a.shape == b.shape) {
    out.has_value = true;
    out.value = a.value;
  }
  return out;
}

}  // namespace plimsoll::network
