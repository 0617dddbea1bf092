#include <array>
#include <limits>

#include <ATen/core/Reduction.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/nll_loss_nd.h>

#include "engine/operators/forms.hpp"

namespace plimsoll::engine {
namespace {

using at::Tensor;

struct Reduction {
  at::Reduction::Reduction kind = at::Reduction::Mean;
  std::int64_t ignored = std::numeric_limits<std::int64_t>::min();  ///< a class that no target has
};

Reduction reduction_of(const Preparation& p) {
  Reduction r;
  const std::string_view text = p.text("reduction", "mean");
  r.kind = text == "sum" ? at::Reduction::Sum : text == "none" ? at::Reduction::None : at::Reduction::Mean;
  if (p.has_attribute("ignore_index")) r.ignored = p.integer("ignore_index", 0);
  return r;
}

/// ATen brings ranks above 2 to N x C x d1 x d2 by itself; the losses get the targets' shape again.
Tensor negative_log_likelihood(const Tensor& x, const Tensor& target, const Tensor& weight,
                               const Reduction& r) {
  const Tensor classes = target.to(at::kLong);
  const Tensor loss = at::nll_loss_nd(x, classes, weight, r.kind, r.ignored);
  return r.kind == at::Reduction::None ? loss.reshape(target.sizes()) : loss;
}

Result<Kernel> prepare_negative_log_likelihood(const Preparation& p) {
  return [r = reduction_of(p)](Call& c) {
    c.out(0, negative_log_likelihood(c.in(0), c.in(1), optional_input(c, 2), r));
  };
}

Result<Kernel> prepare_cross_entropy(const Preparation& p) {
  return [r = reduction_of(p), wanted = p.wants(1)](Call& c) {
    Tensor logarithms = at::log_softmax(c.in(0), 1);
    c.out(0, negative_log_likelihood(logarithms, c.in(1), optional_input(c, 2), r));
    if (wanted) c.out(1, std::move(logarithms));
  };
}

constexpr auto kLossRows = std::to_array<OperatorRow>({
    {"NegativeLogLikelihoodLoss", prepare_negative_log_likelihood},
    {"SoftmaxCrossEntropyLoss", prepare_cross_entropy},
});

}  // namespace

std::span<const OperatorRow> loss_rows() {
  return kLossRows;
}

}  // namespace plimsoll::engine
