// Operators that multiply: convolutions, matrix products, attention.
#include <array>
#include <cmath>
#include <tuple>

#include <ATen/ops/bmm.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mm.h>

#include "engine/calibration/rows.hpp"
#include "engine/scaled_attention.hpp"

namespace plimsoll::engine {
namespace {

using at::Tensor;

struct Convolution {
  std::vector<std::int64_t> input, weight, output;
  std::array<std::int64_t, 2> stride, padding;
  std::int64_t groups;

  explicit Convolution(Extents e)
      : input{e[0], e[1], e[2], e[3]},
        weight{e[4], e[1] / e[8], e[5], e[6]},
        output{e[0], e[4], extent(e[2], e[5], e[7]), extent(e[3], e[6], e[7])},
        stride{e[7], e[7]},
        padding{e[5] / 2, e[6] / 2},
        groups(e[8]) {}
  static std::int64_t extent(std::int64_t in, std::int64_t kernel, std::int64_t stride) {
    return (in + 2 * (kernel / 2) - kernel) / stride + 1;
  }
};
constexpr std::array<std::int64_t, 2> kOnes = {1, 1}, kZeros = {0, 0};

OperatorCall convolution(const Ingredients& make, Extents e) {
  const Convolution c(e);
  return [c, x = make.values(c.input), weights = make.weights(c.weight)]() mutable -> std::vector<Tensor> {
    return {at::convolution(x, weights.next(), {}, c.stride, c.padding, kOnes, false, kZeros, c.groups)};
  };
}
Tensor convolution_gradient(const Convolution& c, const Tensor& gradient, const Tensor& x,
                            const Tensor& weight, bool of_input) {
  const auto all = at::convolution_backward(gradient, x, weight, c10::nullopt, c.stride, c.padding, kOnes,
                                            false, kZeros, c.groups, {of_input, !of_input, false});
  return of_input ? std::get<0>(all) : std::get<1>(all);
}
OperatorCall convolution_input(const Ingredients& make, Extents e) {
  const Convolution c(e);
  return [c, x = make.values(c.input), weights = make.weights(c.weight),
          gradient = make.values(c.output)]() mutable -> std::vector<Tensor> {
    return {convolution_gradient(c, gradient, x, weights.next(), true)};
  };
}
OperatorCall convolution_weight(const Ingredients& make, Extents e) {
  const Convolution c(e);
  return [c, x = make.values(c.input), weight = make.values(c.weight),
          gradient = make.values(c.output)]() -> std::vector<Tensor> {
    return {convolution_gradient(c, gradient, x, weight, false)};
  };
}

OperatorCall matrix(const Ingredients& make, Extents e) {
  const std::int64_t m = e[0], n = e[1], k = e[2];
  c10::optional<Tensor> bias;
  if (e[3] != 0) bias = make.values({n});
  return [bias, x = make.values({m, k}), weights = make.weights({n, k})]() mutable -> std::vector<Tensor> {
    return {at::linear(x, weights.next(), bias)};
  };
}
OperatorCall matrix_input(const Ingredients& make, Extents e) {
  const std::int64_t m = e[0], n = e[1], k = e[2];
  return [gradient = make.values({m, n}), weights = make.weights({n, k})]() mutable -> std::vector<Tensor> {
    return {at::mm(gradient, weights.next())};
  };
}
OperatorCall matrix_weight(const Ingredients& make, Extents e) {
  const std::int64_t m = e[0], n = e[1], k = e[2];
  return [gradient = make.values({m, n}), x = make.values({m, k})]() -> std::vector<Tensor> {
    return {at::mm(gradient.t(), x)};
  };
}

struct Batched {
  std::vector<Tensor> factors;
  Batched(const Ingredients& make, Extents e)
      : factors{make.values({e[0], e[1], e[3]}), make.values({e[0], e[3], e[2]})} {}
  [[nodiscard]] Tensor operator()() const { return at::bmm(factors[0], factors[1]); }
};
OperatorCall batched(const Ingredients& make, Extents e) {
  return [product = Batched(make, e)]() -> std::vector<Tensor> { return {product()}; };
}
OperatorCall batched_backward(const Ingredients& make, Extents e) {
  const Batched product(make, e);
  return backward_of(make, product.factors, product);
}

struct Attention {
  std::vector<Tensor> inputs;  ///< queries, keys, values
  std::optional<Tensor> mask;
  bool causal;

  Attention(const Ingredients& make, Extents e) : causal(e[5] == 1) {
    for (const std::int64_t tokens : {e[2], e[3], e[3]})
      inputs.push_back(make.values({e[0], e[1], tokens, e[4]}));
    if (e[5] == 2) mask = make.truths({e[0], 1, e[2], e[3]});
  }
  [[nodiscard]] Tensor operator()() const {
    return scaled_attention(inputs[0], inputs[1], inputs[2], mask, causal,
                            1 / std::sqrt(static_cast<double>(inputs[0].size(3))));
  }
};
OperatorCall attention(const Ingredients& make, Extents e) {
  return [a = Attention(make, e)]() -> std::vector<Tensor> { return {a()}; };
}
OperatorCall attention_backward(const Ingredients& make, Extents e) {
  const Attention a(make, e);
  return backward_of(make, a.inputs, a);
}

/// Keys and values of a cache were written by earlier passes: cold, as weights are.
OperatorCall cached_attention(const Ingredients& make, Extents e) {
  const std::vector<std::int64_t> cache = {e[0], e[2], e[4], e[5]};
  return [q = make.values({e[0], e[1], e[3], e[5]}), keys = make.weights(cache), values = make.weights(cache),
          scale = 1 / std::sqrt(static_cast<double>(e[5]))]() mutable -> std::vector<Tensor> {
    return {grouped_attention(q, keys.next(), values.next(), false, scale)};
  };
}
struct GroupedAttention {
  std::vector<Tensor> inputs;  ///< queries, keys, values
  GroupedAttention(const Ingredients& make, Extents e)
      : inputs{make.values({e[0], e[1], e[3], e[5]}), make.values({e[0], e[2], e[4], e[5]}),
               make.values({e[0], e[2], e[4], e[5]})} {}
  [[nodiscard]] Tensor operator()() const {
    return grouped_attention(inputs[0], inputs[1], inputs[2], inputs[0].size(2) > 1,
                             1 / std::sqrt(static_cast<double>(inputs[0].size(3))));
  }
};
OperatorCall grouped_attention_forward(const Ingredients& make, Extents e) {
  if (e[3] == 1) return cached_attention(make, e);
  return [a = GroupedAttention(make, e)]() -> std::vector<Tensor> { return {a()}; };
}
OperatorCall grouped_attention_backward(const Ingredients& make, Extents e) {
  const GroupedAttention a(make, e);
  return backward_of(make, a.inputs, a);
}

constexpr std::array kRows = {
    CallRow{"convolution", 9, 9, convolution, convolution_input, convolution_weight},
    CallRow{"grouped", 9, 9, convolution, convolution_input, convolution_weight},
    CallRow{"depthwise", 9, 9, convolution, convolution_input, convolution_weight},
    CallRow{"convolution-channels-last", 9, 9, channels_last<convolution>, channels_last<convolution_input>,
            channels_last<convolution_weight>},
    CallRow{"grouped-channels-last", 9, 9, channels_last<convolution>, channels_last<convolution_input>,
            channels_last<convolution_weight>},
    CallRow{"depthwise-channels-last", 9, 9, channels_last<convolution>, channels_last<convolution_input>,
            channels_last<convolution_weight>},
    CallRow{"matrix", 4, 3, matrix, matrix_input, matrix_weight},
    CallRow{"batched", 4, 4, batched, batched_backward, nullptr},
    CallRow{"attention", 6, 5, attention, attention_backward, nullptr},
    CallRow{"grouped-attention", 6, 6, grouped_attention_forward, grouped_attention_backward, nullptr},
};

}  // namespace

std::span<const CallRow> product_calls() {
  return kRows;
}

}  // namespace plimsoll::engine
