// A layer of experts: rows are sorted by the expert that they go to, and each product is one kernel over
// those that were chosen, as torch's grouped_mm runs it; transformers takes it by default.
#include <algorithm>

#include "network/saturating.hpp"
#include "program/experts.hpp"
#include "program/lowering.hpp"

namespace plimsoll::program {
namespace {

using hardware::Direction;
using hardware::OperatorClass;
using network::DataType;
using network::Operator;
using network::product, network::sum;

struct ExpertExtents {
  std::int64_t rows = 0, width = 0, experts = 0, per_row = 0, hidden = 0;
  std::int64_t pairs = 0;       ///< of a row and an expert
  std::int64_t chosen = 0;      ///< experts that at least one row chooses
  std::int64_t per_expert = 0;  ///< rows of each of those
};

ExpertExtents extents_of(const Lowering& l, const Operator& op, const Value& x, const Value& logits,
                         const Value& down) {
  ExpertExtents e;
  e.width = x.rank == 0 ? 1 : std::max<std::int64_t>(x.dims[x.rank - 1], 1);
  e.rows = x.elements / e.width;
  e.experts = logits.rank == 0 ? 1 : std::max<std::int64_t>(logits.dims[logits.rank - 1], 1);
  e.per_row = std::clamp<std::int64_t>(l.integer(op, "k", 1), 1, e.experts);
  e.hidden = std::max<std::int64_t>(down.elements / e.experts / e.width, 1);
  e.pairs = product(e.rows, e.per_row);
  e.chosen = std::max<std::int64_t>(chosen_experts(e.experts, e.per_row, e.rows).expected, 1);
  e.per_expert = network::quotient(sum(e.pairs, e.chosen - 1), e.chosen);
  return e;
}

/// Softmax and choice, sorting, and the rows brought into the experts' order.
void name_routing(Lowering& l, const ExpertExtents& e, DataType type) {
  const DataType full = DataType::float32;
  l.kernel(OperatorClass::softmax, full, {e.rows, e.experts});
  l.kernel(OperatorClass::row_sum, full, {e.rows, e.experts});  // the k largest
  for (int pass = 0; pass < 3; ++pass) l.kernel(OperatorClass::unary, DataType::int64, {e.pairs});
  l.kernel(OperatorClass::copy, type, {product(e.pairs, e.width)});
}

/// Timed as one product with the chosen experts' weights side by side: the same weights are read, the same
/// products made, and kernels of that kind are calibrated.
void name_product(Lowering& l, const ExpertExtents& e, ValueId x, ValueId weight, std::int64_t in,
                  std::int64_t out, DataType type) {
  const Lowering::Extents extents = {e.per_expert, product(e.chosen, out), in, 0};
  const double share = static_cast<double>(e.chosen) / static_cast<double>(e.experts);
  if (!l.stored_kernel(weight, type, {.m = e.pairs, .n = out, .k = in, .share = share}))
    l.kernel(OperatorClass::matrix, type, extents);
  l.backward_kernel(x, OperatorClass::matrix, Direction::backward_input, type, extents);
  l.backward_kernel(weight, OperatorClass::matrix, Direction::backward_weight, type, extents);
}

/// The results weighted, brought back into the rows' order and summed.
void name_return(Lowering& l, const ExpertExtents& e, DataType type) {
  const std::int64_t values = product(e.pairs, e.width);
  l.kernel(OperatorClass::broadcast, type, {1, e.pairs, e.width});
  l.kernel(OperatorClass::copy, type, {values});
  l.kernel(OperatorClass::column_sum, type, {e.per_row, product(e.rows, e.width)});
}

void lower_experts(Lowering& l, const Operator& op, const LoweringRule&) {
  ValueId x = l.value(l.input(op, 0)), logits = l.value(l.input(op, 1));
  ValueId first = l.value(l.input(op, 2)), down = l.value(l.input(op, 4)), third = l.value(l.input(op, 6));
  if (x == kNoValue || logits == kNoValue || first == kNoValue || down == kNoValue) return l.unruled(op);
  const DataType type = l.low_type(l.natural_type({x, first}));
  for (ValueId* id : {&first, &down, &third, &x}) *id = l.cast(*id, type);
  const ExpertExtents e = extents_of(l, op, l.at(x), l.at(logits), l.at(down));
  const bool fused = third == kNoValue && l.at(first).elements >= product(2, l.at(down).elements);
  const bool gated = fused || third != kNoValue;
  const std::int64_t inner = product(e.pairs, e.hidden), outer = product(e.pairs, e.width);
  l.begin();
  l.library();
  bool gradient = false;
  for (const ValueId id : {x, logits, first, down, third}) gradient |= id != kNoValue && l.needs_gradient(id);
  // The rows by expert; gate and what is gated; the activation and their product; the results, which find
  // room where those before were, unless the backward pass keeps them all.
  const ValueId sorted = l.make_hidden(outer, type);
  const ValueId both = l.make_hidden(gated ? product(2, inner) : inner, type);
  const ValueId bent = l.make_hidden(gated ? product(2, inner) : inner, type);
  const std::int64_t before = product(gated ? 4 : 2, inner), after = product(3, outer);
  const std::int64_t more = l.training() ? after : after - std::min(before, after);
  const ValueId results = more > 0 ? l.make_hidden(more, type) : kNoValue;
  for (const ValueId id : {sorted, both, bent, results})
    if (id != kNoValue && l.training()) l.save(id);
  const ValueId y = l.make(l.output(op, 0), type, gradient);

  name_routing(l, e, type);
  name_product(l, e, x, first, e.width, product(fused ? 2 : 1, e.hidden), type);
  if (third != kNoValue) name_product(l, e, x, third, e.width, e.hidden, type);
  l.kernel(OperatorClass::function, type, {inner});
  if (gated) l.kernel(OperatorClass::binary, type, {inner});
  // What it takes needs a gradient where anything before it does.
  name_product(l, e, l.needs_gradient(x) ? x : first, down, e.hidden, e.width, type);
  name_return(l, e, type);

  if (l.training()) {
    l.backward_scratch(l.at(both).bytes());
    l.backward_scratch(l.at(sorted).bytes());
    l.backward_kernel(x, OperatorClass::function, Direction::forward, type, {inner});
    l.backward_kernel(x, OperatorClass::copy, Direction::forward, type, {product(2, outer)});
    l.backward_kernel(logits, OperatorClass::softmax, Direction::backward_input, DataType::float32,
                      {e.rows, e.experts});
    for (const ValueId id : {first, down, third})
      if (id != kNoValue) l.save(id);
  }
  l.backward_library();
  for (const ValueId id : {x, logits, first, third, down})
    if (id != kNoValue) l.backward_gradient(id);
  l.end({y});
}

constexpr LoweringRule kExpertRules[] = {
    {.name = "MoE", .lower = lower_experts, .cast = CastPolicy::low, .domain = "com.microsoft"},
};

}  // namespace

std::span<const LoweringRule> expert_rules() {
  return kExpertRules;
}

}  // namespace plimsoll::program
