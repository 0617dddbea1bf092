#include <algorithm>
#include <cmath>

#include "network/inference.hpp"
#include "network/operators.hpp"
#include "network/rules/axes.hpp"
#include "network/rules/folding.hpp"

namespace plimsoll::network {
namespace {

Status shape_rule(InferenceContext& c) {
  if (!c.ranked(0)) {
    c.set(0, DataType::int64, Shape{c.unknown("rank", {0, kMaxRank})});
    return {};
  }
  const auto dims = c.dims(0);
  const auto rank = static_cast<std::int64_t>(dims.size());
  const auto clamped = [rank](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const std::int64_t start = clamped(c.integer("start", 0));
  const std::int64_t end = std::max(start, clamped(c.integer("end", rank)));
  Scalar values[kMaxRank];
  for (std::int64_t i = start; i < end; ++i)
    values[i - start] = Scalar::extent(dims[static_cast<std::size_t>(i)]);
  c.set(0, DataType::int64, Shape{Dim::of(end - start)});
  c.set_value(0, std::span(values, static_cast<std::size_t>(end - start)));
  return {};
}

Status size_rule(InferenceContext& c) {
  c.set(0, DataType::int64, Shape{});
  if (!c.ranked(0)) return {};
  const Dim n = c.count(c.dims(0));
  if (!n.valid()) return {};
  const Scalar value = Scalar::extent(n);
  c.set_value(0, std::span(&value, 1));
  return {};
}

/// The tensor given as the attribute "value", if there is one.
const Tensor* stored_value(const InferenceContext& c) {
  const Attribute* a = c.attribute("value");
  if (a == nullptr || a->kind != Attribute::Kind::tensor) return nullptr;
  return &c.network().tensor(static_cast<TensorId>(a->integer));
}

Status constant(InferenceContext& c) {
  const Network& network = c.network();
  if (const Tensor* t = stored_value(c)) {
    if (t->has_shape)
      c.set(0, t->type, Shape(network.dims_of(*t)));
    else
      c.set_unranked(0, t->type);
    if (t->has_value) c.set_value(0, network.value_of(*t));
    return {};
  }
  for (const Attribute& a : network.attributes_of(c.op())) {
    const std::string_view name = network.view(a.name);
    const auto length = Shape{Dim::of(a.list.count)};
    if (name == "value_int" && a.kind == Attribute::Kind::integer) {
      const Scalar value = Scalar::integer(a.integer);
      c.set(0, DataType::int64, Shape{});
      c.set_value(0, std::span(&value, 1));
    } else if (name == "value_float" && a.kind == Attribute::Kind::real) {
      const Scalar value = Scalar::real(a.real);
      c.set(0, DataType::float32, Shape{});
      c.set_value(0, std::span(&value, 1));
    } else if (name == "value_ints" && a.kind == Attribute::Kind::integers) {
      c.set(0, DataType::int64, length);
      std::vector<Scalar> values;
      if (a.list.count <= kMaxValueElements)
        for (const std::int64_t n : network.integers_of(a)) values.push_back(Scalar::integer(n));
      if (values.size() == a.list.count) c.set_value(0, values);
    } else if (name == "value_floats" && a.kind == Attribute::Kind::reals) {
      c.set(0, DataType::float32, length);
      std::vector<Scalar> values;
      if (a.list.count <= kMaxValueElements)
        for (const double x : network.reals_of(a)) values.push_back(Scalar::real(x));
      if (values.size() == a.list.count) c.set_value(0, values);
    } else if (name == "value_string" && a.kind == Attribute::Kind::text) {
      c.set(0, DataType::string, Shape{});
    } else if (name == "value_strings" && a.kind == Attribute::Kind::texts) {
      c.set(0, DataType::string, length);
    } else {
      continue;
    }
    return {};
  }
  // A sparse tensor or something newer: the file may still say what it is.
  if (!c.wants(0)) return {};
  const Tensor& declared = network.tensor(c.output_id(0));
  Inferred out;
  out.type = declared.type;
  if (declared.has_shape && std::ranges::all_of(network.dims_of(declared), [](Dim d) { return d.exact(); })) {
    out.ranked = true;
    out.shape = Shape(network.dims_of(declared));
  }
  c.set(0, std::move(out));
  return {};
}

/// The extents that an input of integers names; unknown ones where only their number is known.
Result<std::optional<Shape>> target_shape(InferenceContext& c, std::size_t input) {
  if (c.has_value(input)) {
    Shape out;
    for (const Scalar& s : c.value(input)) {
      const Dim d = s.dim();
      if (!d.valid())
        return fail("an extent of {} cannot be",
                    s.is_real() ? fmt::format("{}", s.real()) : fmt::format("{}", s.integer()));
      out.push_back(d);
    }
    return out;
  }
  const auto length = length_of(c, input);
  if (!length) return std::nullopt;
  return unknown_shape(c, *length, kUnbounded);
}

Status constant_of_shape(InferenceContext& c) {
  DataType type = DataType::float32;
  Scalar fill = Scalar::real(0);
  bool known = true;
  if (const Tensor* t = stored_value(c)) {
    const auto value = c.network().value_of(*t);
    type = t->type;
    known = t->has_value && value.size() == 1;
    if (known) fill = value.front();
  }
  const auto shape = target_shape(c, 0);
  PLIMSOLL_TRY(shape);
  if (!*shape) {
    c.set_unranked(0, type);
    return {};
  }
  c.set(0, type, **shape);
  if (const auto n = small_count((*shape)->dims()); n && known) c.set_value(0, std::vector<Scalar>(*n, fill));
  return {};
}

Status expand(InferenceContext& c) {
  const DataType type = c.type(0);
  if (!c.ranked(0)) {
    c.set_unranked(0, type);
    return {};
  }
  if (!c.has_value(1)) {
    const auto length = length_of(c, 1);
    if (!length) {
      c.set_unranked(0, type);
      return {};
    }
    // An extent other than 1 can only stay; what stands before it, and ones, can become anything.
    const auto dims = c.dims(0);
    const std::int64_t added = std::max<std::int64_t>(0, *length - static_cast<std::int64_t>(dims.size()));
    Shape out = unknown_shape(c, added, kUnbounded);
    for (const Dim d : dims)
      out.push_back(d.is(0) || c.symbols().bounds(d).low > 1 ? d : c.unknown("extent", {0, kUnbounded}));
    c.set(0, type, out);
    return {};
  }
  const auto target = target_shape(c, 1);
  PLIMSOLL_TRY(target);
  if ((*target)->overflowed()) return fail("a rank over {} is not supported", kMaxRank);
  const Result<Shape> shape = c.broadcast(c.dims(0), (*target)->dims());
  PLIMSOLL_TRY(shape);
  c.set(0, type, *shape);
  const auto values = contents(c, 0);
  if (values && small_count(shape->dims()))
    c.set_value(0, pick(*values, 0, broadcast_strides(c.dims(0), shape->dims()), shape->dims()));
  return {};
}

struct Steps {
  Dim count;
  std::vector<Scalar> values;  ///< empty where there are many
};

/// limit - start over delta, rounded up, with the arithmetic of 64 bits and no overflow.
Result<Steps> integer_steps(std::int64_t start, std::int64_t limit, std::int64_t delta) {
  if (delta == 0) return fail("a step of 0 never ends");
  Steps out;
  if (delta > 0 ? start >= limit : start <= limit) return out;
  const auto from = static_cast<std::uint64_t>(start), to = static_cast<std::uint64_t>(limit);
  const std::uint64_t distance = delta > 0 ? to - from : from - to;
  const std::uint64_t step =
      delta > 0 ? static_cast<std::uint64_t>(delta) : std::uint64_t{0} - static_cast<std::uint64_t>(delta);
  const std::uint64_t n = distance / step + (distance % step != 0);
  if (n > static_cast<std::uint64_t>(kUnbounded))
    return fail("from {} to {} by {} are more than 2^63 steps", start, limit, delta);
  out.count = Dim::of(static_cast<std::int64_t>(n));
  if (n <= kMaxValueElements)
    for (std::uint64_t i = 0; i < n; ++i)
      out.values.push_back(
          Scalar::integer(static_cast<std::int64_t>(from + i * static_cast<std::uint64_t>(delta))));
  return out;
}

Result<Steps> real_steps(double start, double limit, double delta) {
  const double n = std::ceil((limit - start) / delta);
  if (!(std::fabs(n) < kTwoTo63))
    return fail("from {} to {} by {} is not a number of steps", start, limit, delta);
  Steps out{Dim::of(static_cast<std::int64_t>(std::max(0.0, n))), {}};
  if (n > 0 && n <= static_cast<double>(kMaxValueElements))
    for (std::int64_t i = 0; i < out.count.value(); ++i)
      out.values.push_back(Scalar::real(start + static_cast<double>(i) * delta));
  return out;
}

/// Symbolic limits, where the count follows from them.
std::optional<Dim> symbolic_steps(Symbols& symbols, const Scalar& start, const Scalar& limit,
                                  const Scalar& delta) {
  const auto by = whole(delta);
  const auto as_dim = [](const Scalar& s) {
    if (s.is_symbol()) return s.dim();
    const auto n = whole(s);
    return n ? Dim::of(*n) : Dim::invalid();
  };
  const Dim from = as_dim(start), to = as_dim(limit);
  if (!by || *by <= 0 || !from.valid() || !to.valid()) return std::nullopt;
  return symbols.divide_up(symbols.minus(to, from), Dim::of(*by));
}

Status range(InferenceContext& c) {
  const DataType type = c.type(0) != DataType::undefined ? c.type(0) : c.type(1);
  const auto start = single(c, 0), limit = single(c, 1), delta = single(c, 2);
  if (!start || !limit || !delta) {
    c.set(0, type, Shape{c.unknown("steps", {})});
    return {};
  }
  if (start->is_symbol() || limit->is_symbol() || delta->is_symbol()) {
    const auto n = symbolic_steps(c.symbols(), *start, *limit, *delta);
    c.set(0, type, Shape{n ? *n : c.unknown("steps", {})});
    return {};
  }
  const bool integers = start->is_integer() && limit->is_integer() && delta->is_integer();
  const auto steps = integers ? integer_steps(start->integer(), limit->integer(), delta->integer())
                              : real_steps(start->real(), limit->real(), delta->real());
  PLIMSOLL_TRY(steps);
  c.set(0, type, Shape{steps->count});
  if (steps->count.is(static_cast<std::int64_t>(steps->values.size()))) c.set_value(0, steps->values);
  return {};
}

constexpr OperatorInfo kShapeOperators[] = {
    {"Constant", 0, 0, 1, constant}, {"ConstantOfShape", 1, 1, 1, constant_of_shape},
    {"Expand", 2, 2, 1, expand},     {"Range", 3, 3, 1, range},
    {"Shape", 1, 1, 1, shape_rule},  {"Size", 1, 1, 1, size_rule},
};

}  // namespace

std::span<const OperatorInfo> shape_operators() {
  return kShapeOperators;
}

}  // namespace plimsoll::network
