#include "program/experts.hpp"

#include <algorithm>
#include <cmath>

#include "network/saturating.hpp"
#include "program/formulas.hpp"

namespace plimsoll::program {

using network::kUnbounded, network::product, network::quotient, network::sum;

ChosenExperts chosen_experts(std::int64_t experts, std::int64_t per_row, std::int64_t rows) {
  if (experts <= 0 || per_row <= 0 || rows <= 0) return {};
  ChosenExperts c;
  c.least = std::min(experts, per_row);
  c.most = std::min(experts, product(per_row, rows));
  const double e = static_cast<double>(experts), missed = 1 - std::min(1.0, static_cast<double>(per_row) / e);
  const double hit = e * (1 - std::pow(missed, static_cast<double>(rows)));
  c.expected = std::clamp(static_cast<std::int64_t>(std::llround(hit)), c.least, c.most);
  return c;
}

std::int64_t bytes_of_chosen(const Site& s, network::TensorId stacked) {
  const std::int64_t experts = s.input_dim(1, -1), whole = s.bytes(stacked);
  const std::int64_t rows = quotient(s.input_elements(1), experts);
  if (experts == kUnbounded || rows == kUnbounded) return whole;
  const ChosenExperts chosen = chosen_experts(experts, s.integer("k", 1), rows);
  return product(quotient(whole, experts), s.upper ? chosen.most : chosen.least);
}

Operations formula::experts(const Site& s, const WorkRow&) {
  const std::int64_t experts = s.input_dim(1, -1), width = s.input_dim(0, -1);
  const std::int64_t rows = quotient(s.input_elements(0), width);
  const std::int64_t pairs = product(rows, std::max<std::int64_t>(0, s.integer("k", 1)));
  const std::int64_t weights = sum(sum(s.input_elements(2), s.input_elements(4)), s.input_elements(6));
  // fc1 makes the gate and, fused with it or as fc3, what is gated.
  const std::int64_t hidden = quotient(s.input_elements(4), product(experts, width));
  Operations o{.macs = {product(pairs, quotient(weights, experts))}, .other_flops = {}};
  const std::int64_t softmax = product(s.input_elements(1), hardware::kSoftmaxCost.forward);
  const std::int64_t gated = product(product(pairs, hidden), hardware::kGeluCost.forward + 1);
  const std::int64_t joined = product(product(pairs, width), 2);
  o.other_flops = {sum(softmax, sum(gated, joined))};
  return o;
}

}  // namespace plimsoll::program
