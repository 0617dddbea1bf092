#include <algorithm>

#include "network/rules/axes.hpp"
#include "network/rules/folding.hpp"
#include "network/rules/movement.hpp"

namespace plimsoll::network {
namespace {

// From here on exporters mean "to the end", whatever the extent.
constexpr std::int64_t kFarAway = std::numeric_limits<std::int32_t>::max();

std::int64_t magnitude(std::int64_t n) {
  if (n == std::numeric_limits<std::int64_t>::min()) return std::numeric_limits<std::int64_t>::max();
  return n < 0 ? -n : n;
}

/// What is cut from one axis.
struct Cut {
  Dim length;
  std::optional<std::int64_t> first;  ///< where it begins, if that is known
};

Cut cut_exact(std::int64_t extent, std::int64_t start, std::int64_t end, std::int64_t step) {
  const bool forward = step > 0;
  const std::int64_t lowest = forward ? 0 : -1, top = forward ? extent : extent - 1;
  // A negative position counts from the end; what is still outside is clamped.
  const auto clamped = [&](std::int64_t at) { return std::clamp(at < 0 ? at + extent : at, lowest, top); };
  const std::int64_t from = clamped(start), to = clamped(end);
  const std::int64_t distance = forward ? to - from : from - to;
  const std::int64_t by = magnitude(step);
  const std::int64_t n = distance <= 0 ? 0 : distance / by + (distance % by != 0);
  return {Dim::of(n), from};
}

/// The position as an extent between 0 and `extent`, for steps forward.
Dim position(Symbols& symbols, Dim extent, const Scalar& at) {
  if (at.is_symbol()) return symbols.minimum(at.dim(), extent);
  if (at.integer() < 0) return symbols.minus(extent, Dim::of(magnitude(at.integer())));
  return at.integer() >= kFarAway && symbols.bounds(extent).high == kUnbounded
             ? extent
             : symbols.minimum(extent, Dim::of(at.integer()));
}

Cut cut(InferenceContext& c, Dim extent, const Scalar& start, const Scalar& end, std::int64_t step) {
  Symbols& symbols = c.symbols();
  if (extent.exact() && start.is_integer() && end.is_integer())
    return cut_exact(extent.value(), start.integer(), end.integer(), step);
  const std::int64_t high = symbols.bounds(extent).high;
  const Dim by = Dim::of(magnitude(step));
  if (step < 0) {
    const auto at_end = [&](const Scalar& s) {
      return s.is_integer() && (s.integer() == -1 || s.integer() >= std::min(kFarAway, high));
    };
    const auto before_all = [&](const Scalar& s) {
      return s.is_integer() && s.integer() <= -std::min(kFarAway, high) - 1;
    };
    if (at_end(start) && before_all(end)) return {symbols.divide_up(extent, by), std::nullopt};
    return {c.unknown("slice", {0, symbols.bounds(symbols.divide_up(extent, by)).high}), std::nullopt};
  }
  // Both counted from the end: the part is what the first reaches back less what the second does.
  const bool both_back = start.is_integer() && start.integer() < 0;
  const Dim to = position(symbols, extent, end);
  if (both_back) {
    const Dim back = symbols.minimum(extent, Dim::of(magnitude(start.integer())));
    if (to == extent) return {symbols.divide_up(back, by), std::nullopt};
    if (end.is_integer() && end.integer() < 0) {
      const Dim kept = symbols.minimum(extent, Dim::of(magnitude(end.integer())));
      if (start.integer() >= end.integer()) return {Dim::of(0), std::nullopt};
      return {symbols.divide_up(symbols.minus(back, kept), by), std::nullopt};
    }
  }
  const Dim from = position(symbols, extent, start);
  if (from.exact() && to.exact() && from.value() >= to.value()) return {Dim::of(0), from.value()};
  // From the front to a distance before the end is one subtraction from the extent itself.
  if (start.is_integer() && start.integer() >= 0 && end.is_integer() && end.integer() < 0) {
    std::int64_t dropped = 0;
    if (__builtin_add_overflow(start.integer(), magnitude(end.integer()), &dropped))
      return {Dim::of(0), std::nullopt};
    return {symbols.divide_up(symbols.minus(extent, Dim::of(dropped)), by), std::nullopt};
  }
  // A difference of extents stops at 0, so that a start beyond the end needs no clamping.
  if (to == extent && start.dim().valid())
    return {symbols.divide_up(symbols.minus(extent, start.dim()), by), std::nullopt};
  return {symbols.divide_up(symbols.minus(to, from), by), std::nullopt};
}

/// One of Slice's lists: an attribute up to opset 9, an input after.
struct Positions {
  bool given = false;
  std::optional<std::size_t> length;
  std::vector<Scalar> values;
  bool known = false;
};

Positions positions(const InferenceContext& c, std::string_view attribute, std::size_t input) {
  Positions out;
  if (c.has_value(input)) {
    const auto values = c.value(input);
    out.values.assign(values.begin(), values.end());
    out.given = out.known = true;
    out.length = values.size();
    return out;
  }
  const IntegerList list = integer_list(c, attribute, input);
  out.given = list.given;
  out.length = list.length;
  out.known = list.known;
  for (const std::int64_t n : list.values) out.values.push_back(Scalar::integer(n));
  return out;
}

/// Slice whose axes are not known: any axis may be cut, none grows.
void slice_anywhere(InferenceContext& c) {
  Shape shape;
  for (const Dim d : c.dims(0)) shape.push_back(c.unknown("slice", {0, c.symbols().bounds(d).high}));
  c.set(0, c.type(0), shape);
}

/// The lists of one Slice: what is cut, axis by axis.
struct Cuts {
  Positions starts, ends, steps;
  IntegerList axes;
  std::optional<std::size_t> length;

  /// Whether cut i is known, be it as symbols.
  [[nodiscard]] bool known(std::size_t i) const {
    return starts.known && ends.known && !starts.values[i].is_real() && !ends.values[i].is_real() &&
           (!steps.given || (steps.known && steps.values[i].is_integer()));
  }
  [[nodiscard]] std::int64_t step(std::size_t i) const { return steps.given ? steps.values[i].integer() : 1; }
};

Result<Cuts> cuts_of(const InferenceContext& c) {
  Cuts out{positions(c, "starts", 1),
           positions(c, "ends", 2),
           positions(c, "steps", 4),
           integer_list(c, "axes", 3),
           {}};
  out.length = out.starts.length ? out.starts.length : out.ends.length ? out.ends.length : out.axes.length;
  for (const auto& length : {out.starts.length, out.ends.length, out.steps.length, out.axes.length})
    if (length && *length != *out.length) return fail("starts, ends, axes and steps differ in length");
  if (out.length && *out.length > c.rank(0))
    return fail("cuts {} axes of a shape of rank {}", *out.length, c.rank(0));
  return out;
}

/// Follows where the contents of a slice lie among those of the input.
class Taken {
 public:
  Taken(const InferenceContext& c, std::optional<std::span<const Scalar>> values) : values_(values) {
    if (values_) strides_ = own_ = strides_of(c.dims(0));
  }
  void narrow(std::size_t axis, const Cut& part, std::int64_t step) {
    if (!part.first) values_.reset();
    // Where nothing is taken, positions may lie outside and are never read.
    if (!values_ || part.length.is(0)) return;
    first_ += *part.first * own_.step[axis];
    strides_.step[axis] = part.length.is(1) ? 0 : own_.step[axis] * step;
  }
  void forget() { values_.reset(); }
  void read(InferenceContext& c, const Shape& shape) const {
    if (values_ && small_count(shape.dims())) c.set_value(0, pick(*values_, first_, strides_, shape.dims()));
  }

 private:
  std::optional<std::span<const Scalar>> values_;
  Strides own_, strides_;
  std::int64_t first_ = 0;
};

}  // namespace

Status slice(InferenceContext& c) {
  if (!c.ranked(0)) {
    c.set_unranked(0, c.type(0));
    return {};
  }
  const auto dims = c.dims(0);
  const Result<Cuts> cuts = cuts_of(c);
  PLIMSOLL_TRY(cuts);
  if (!cuts->length || (cuts->axes.given && !cuts->axes.known)) {
    slice_anywhere(c);
    return {};
  }
  Shape shape(dims);
  Taken taken(c, contents(c, 0));
  AxisSet seen;
  for (std::size_t i = 0; i < *cuts->length; ++i) {
    const std::int64_t named = cuts->axes.given ? cuts->axes.values[i] : static_cast<std::int64_t>(i);
    const Result<std::size_t> axis = c.axis(named, dims.size());
    PLIMSOLL_TRY(axis);
    if (seen.test(*axis)) return fail("axis {} is named twice", named);
    seen.set(*axis);
    if (!cuts->known(i)) {
      shape[*axis] = c.unknown("slice", {0, c.symbols().bounds(dims[*axis]).high});
      taken.forget();
      continue;
    }
    const std::int64_t step = cuts->step(i);
    if (step == 0) return fail("a step of 0 never ends");
    const Cut part = cut(c, dims[*axis], cuts->starts.values[i], cuts->ends.values[i], step);
    shape[*axis] = part.length;
    taken.narrow(*axis, part, step);
  }
  c.set(0, c.type(0), shape);
  taken.read(c, shape);
  return {};
}

}  // namespace plimsoll::network
