#include "network/inference.hpp"
#include "network/operators.hpp"
#include "network/rules/extents.hpp"

namespace plimsoll::network {
namespace {

/// Inputs X, W, R, …; `gates` is how many matrices of hidden x hidden R stacks.
Status recurrent(InferenceContext& c, std::int64_t gates) {
  const std::string_view direction = c.text("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    return fail("direction is '{}', which is not forward, reverse or bidirectional", direction);
  const Dim directions = Dim::of(direction == "bidirectional" ? 2 : 1);
  const std::int64_t layout = c.integer("layout", 0);
  if (layout != 0 && layout != 1) return fail("layout is {}; it must be 0 or 1", layout);

  const Result<Shape> x = shape_of_rank(c, 0, 3, "X");
  PLIMSOLL_TRY(x);
  const Result<Shape> w = shape_of_rank(c, 1, 3, "W");
  PLIMSOLL_TRY(w);
  const Result<Shape> r = shape_of_rank(c, 2, 3, "R");
  PLIMSOLL_TRY(r);

  Symbols& s = c.symbols();
  Dim hidden = (*r)[2];
  if (c.attribute("hidden_size") != nullptr) {
    const Result<std::int64_t> stated = positive_attribute(c, "hidden_size", 0);
    PLIMSOLL_TRY(stated);
    if (differ(hidden, Dim::of(*stated)))
      return fail("hidden_size is {}; R has the shape {}", *stated, c.show(r->dims()));
    hidden = Dim::of(*stated);
  }
  const Dim stacked = s.times(hidden, Dim::of(gates));
  if (differ((*w)[1], stacked) || differ((*r)[1], stacked) || differ((*w)[0], directions) ||
      differ((*r)[0], directions))
    return fail("W {} and R {} do not fit {} direction(s), {} gates and a hidden size of {}",
                c.show(w->dims()), c.show(r->dims()), directions.value(), gates, s.text(hidden));
  if (differ((*w)[2], (*x)[2]))
    return fail("X {} has {} features; W {} wants {}", c.show(x->dims()), (*x)[2].value(), c.show(w->dims()),
                (*w)[2].value());

  const Dim batch = (*x)[layout == 0 ? 1 : 0], steps = (*x)[layout == 0 ? 0 : 1];
  const Shape last = layout == 0 ? Shape{directions, batch, hidden} : Shape{batch, directions, hidden};
  c.set(0, c.type(0),
        layout == 0 ? Shape{steps, directions, batch, hidden} : Shape{batch, steps, directions, hidden});
  c.set(1, c.type(0), last);
  c.set(2, c.type(0), last);
  return {};
}

Status rnn(InferenceContext& c) {
  return recurrent(c, 1);
}
Status gru(InferenceContext& c) {
  return recurrent(c, 3);
}
Status lstm(InferenceContext& c) {
  return recurrent(c, 4);
}

constexpr OperatorInfo kRecurrentOperators[] = {
    {"GRU", 3, 6, 2, gru},
    {"LSTM", 3, 8, 3, lstm},
    {"RNN", 3, 6, 2, rnn},
};

}  // namespace

std::span<const OperatorInfo> recurrent_operators() {
  return kRecurrentOperators;
}

}  // namespace plimsoll::network
