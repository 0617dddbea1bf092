// Operators that mostly move bytes: normalisations, pools, element-wise ones, sums, copies, optimizers.
#include <array>
#include <memory>
#include <utility>

#include <ATen/ops/add.h>
#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/group_norm.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/sum.h>

#include "engine/calibration/rows.hpp"
#include "engine/training.hpp"

namespace plimsoll::engine {
namespace {

using at::Tensor;

constexpr double kNormEpsilon = 1e-5, kStatisticsMomentum = 0.1, kLearningRate = 1e-3;

/// An operator as a pure function of tensors, all of which get gradients.
struct Function {
  std::vector<Tensor> inputs;
  std::function<Tensor(const std::vector<Tensor>&)> compute;
};
using Describe = Function (*)(const Ingredients&, Extents);

template <Describe describe>
OperatorCall forward(const Ingredients& make, Extents e) {
  return [f = describe(make, e)]() -> std::vector<Tensor> { return {f.compute(f.inputs)}; };
}
template <Describe describe>
OperatorCall backward(const Ingredients& make, Extents e) {
  const Function f = describe(make, e);
  return backward_of(make, f.inputs, [&f] { return f.compute(f.inputs); });
}

/// An image whose positions stand in one row: kernels see batch, channels and the number of positions.
Tensor image(const Ingredients& make, Extents e) {
  return make.values({e[0], e[1], e[2], 1});
}

template <bool training>
Function batch_norm(const Ingredients& make, Extents e) {
  const Tensor mean = make.values({e[1]}), variance = make.values({e[1]}).fill_(1);
  return {{image(make, e), make.values({e[1]}), make.values({e[1]})},
          [mean, variance](const std::vector<Tensor>& in) {
            return at::batch_norm(in[0], in[1], in[2], mean, variance, training, kStatisticsMomentum,
                                  kNormEpsilon, true);
          }};
}
Function layer_norm(const Ingredients& make, Extents e) {
  return {{make.values({e[0], e[1]}), make.values({e[1]}), make.values({e[1]})},
          [](const std::vector<Tensor>& in) {
            return at::layer_norm(in[0], in[1].sizes(), in[1], in[2], kNormEpsilon);
          }};
}
Function group_norm(const Ingredients& make, Extents e) {
  return {{image(make, e), make.values({e[1]}), make.values({e[1]})},
          [groups = e[3]](const std::vector<Tensor>& in) {
            return at::group_norm(in[0], groups, in[1], in[2], kNormEpsilon);
          }};
}
Function softmax(const Ingredients& make, Extents e) {
  return {{make.values({e[0], e[1]})}, [](const std::vector<Tensor>& in) { return at::softmax(in[0], 1); }};
}

struct Pool {
  std::array<std::int64_t, 2> kernel, stride, padding;
  explicit Pool(Extents e)
      : kernel{e[4], e[4]}, stride{e[5], e[5]}, padding{(e[4] - 1) / 2, (e[4] - 1) / 2} {}
};
Function max_pool(const Ingredients& make, Extents e) {
  return {{make.values({e[0], e[1], e[2], e[3]})}, [p = Pool(e)](const std::vector<Tensor>& in) {
            return at::max_pool2d(in[0], p.kernel, p.stride, p.padding);
          }};
}
Function average_pool(const Ingredients& make, Extents e) {
  return {{make.values({e[0], e[1], e[2], e[3]})}, [p = Pool(e)](const std::vector<Tensor>& in) {
            return at::avg_pool2d(in[0], p.kernel, p.stride, p.padding);
          }};
}
Function global_pool(const Ingredients& make, Extents e) {
  return {{make.values({e[0], e[1]})}, [](const std::vector<Tensor>& in) { return at::mean(in[0], 1); }};
}

Function relu_like(const Ingredients& make, Extents e) {
  return {{make.values({e[0]})}, [](const std::vector<Tensor>& in) { return at::relu(in[0]); }};
}
Function function(const Ingredients& make, Extents e) {
  return {{make.values({e[0]})}, [](const std::vector<Tensor>& in) { return at::gelu(in[0]); }};
}
Function binary(const Ingredients& make, Extents e) {
  return {{make.values({e[0]}), make.values({e[0]})},
          [](const std::vector<Tensor>& in) { return at::add(in[0], in[1]); }};
}
Function broadcast(const Ingredients& make, Extents e) {
  return {{make.values({e[0], e[1], e[2]}), make.values({e[1], 1})},
          [](const std::vector<Tensor>& in) { return at::mul(in[0], in[1]); }};
}
template <int dimension>
Function sum(const Ingredients& make, Extents e) {
  return {{make.values({e[0], e[1]})},
          [](const std::vector<Tensor>& in) { return at::sum(in[0], dimension); }};
}
Function channel_sum(const Ingredients& make, Extents e) {
  return {{make.values({e[0], e[1], e[2]})}, [](const std::vector<Tensor>& in) {
            constexpr std::array<std::int64_t, 2> kOver = {0, 2};
            return at::sum(in[0], at::IntArrayRef(kOver));
          }};
}
Function copy(const Ingredients& make, Extents e) {
  return {{make.values({e[0]})}, [](const std::vector<Tensor>& in) { return in[0].clone(); }};
}
Function transpose(const Ingredients& make, Extents e) {
  return {{make.values({e[0], e[1], e[2]})},
          [](const std::vector<Tensor>& in) { return in[0].transpose(1, 2).contiguous(); }};
}

OperatorCall embedding(const Ingredients& make, Extents e) {
  return [indices = make.indices(e[0], e[2]),
          tables = make.weights({e[2], e[1]})]() mutable -> std::vector<Tensor> {
    return {at::embedding(tables.next(), indices)};
  };
}
OperatorCall embedding_backward(const Ingredients& make, Extents e) {
  const Tensor table = make.values({e[2], e[1]}), indices = make.indices(e[0], e[2]);
  return backward_of(make, {table}, [&] { return at::embedding(table, indices); });
}

/// One update of parameters that last time were touched a whole training step ago.
template <network::Optimizer kind, std::int64_t states>
OperatorCall update(const Ingredients& make, Extents e) {
  const std::int64_t each = std::max<std::int64_t>(e[1] / e[0], 1);
  const std::int64_t bytes = each * e[0] * (2 + states) * static_cast<std::int64_t>(sizeof(float));
  std::vector<std::shared_ptr<Optimizer>> sets;  // shared: a call is copied, an optimizer's state is not
  for (std::size_t copy = 0; copy < cold_copies(bytes); ++copy) {
    std::vector<Tensor> parameters;
    for (std::int64_t i = 0; i < e[0]; ++i) {
      parameters.push_back(make.values({each}));
      parameters.back().mutable_grad() = make.values({each});
    }
    sets.push_back(std::make_shared<Optimizer>(kind, kLearningRate, std::move(parameters)));
    sets.back()->step();  // makes its state
  }
  return [sets = std::move(sets), at = std::size_t{0}]() mutable -> std::vector<Tensor> {
    at = (at + 1) % sets.size();
    sets[at]->step();
    return {};
  };
}

using network::Optimizer::adam, network::Optimizer::momentum, network::Optimizer::sgd;

constexpr std::array kRows = {
    CallRow{"batch-norm", 3, 3, forward<batch_norm<false>>, nullptr, nullptr},
    CallRow{"batch-norm-training", 3, 3, forward<batch_norm<true>>, backward<batch_norm<true>>, nullptr},
    CallRow{"batch-norm-channels-last", 3, 3, channels_last<forward<batch_norm<false>>>, nullptr, nullptr},
    CallRow{"batch-norm-training-channels-last", 3, 3, channels_last<forward<batch_norm<true>>>,
            channels_last<backward<batch_norm<true>>>, nullptr},
    CallRow{"layer-norm", 2, 2, forward<layer_norm>, backward<layer_norm>, nullptr},
    CallRow{"group-norm", 4, 4, forward<group_norm>, backward<group_norm>, nullptr},
    CallRow{"softmax", 2, 2, forward<softmax>, backward<softmax>, nullptr},
    CallRow{"max-pool", 6, 6, forward<max_pool>, backward<max_pool>, nullptr},
    CallRow{"average-pool", 6, 6, forward<average_pool>, backward<average_pool>, nullptr},
    CallRow{"max-pool-channels-last", 6, 6, channels_last<forward<max_pool>>,
            channels_last<backward<max_pool>>, nullptr},
    CallRow{"average-pool-channels-last", 6, 6, channels_last<forward<average_pool>>,
            channels_last<backward<average_pool>>, nullptr},
    CallRow{"global-pool", 2, 2, forward<global_pool>, backward<global_pool>, nullptr},
    CallRow{"unary", 1, 1, forward<relu_like>, backward<relu_like>, nullptr},
    CallRow{"function", 1, 1, forward<function>, backward<function>, nullptr},
    CallRow{"binary", 1, 1, forward<binary>, nullptr, nullptr},
    CallRow{"broadcast", 3, 3, forward<broadcast>, nullptr, nullptr},
    CallRow{"row-sum", 2, 2, forward<sum<1>>, nullptr, nullptr},
    CallRow{"column-sum", 2, 2, forward<sum<0>>, nullptr, nullptr},
    CallRow{"channel-sum", 3, 3, forward<channel_sum>, nullptr, nullptr},
    CallRow{"embedding", 3, 3, embedding, embedding_backward, nullptr},
    CallRow{"copy", 1, 1, forward<copy>, nullptr, nullptr},
    CallRow{"transpose", 3, 3, forward<transpose>, nullptr, nullptr},
    CallRow{"optimizer-sgd", 2, 2, update<sgd, 0>, nullptr, nullptr},
    CallRow{"optimizer-momentum", 2, 2, update<momentum, 1>, nullptr, nullptr},
    CallRow{"optimizer-adam", 2, 2, update<adam, 2>, nullptr, nullptr},
};

}  // namespace

std::span<const CallRow> streaming_calls() {
  return kRows;
}

}  // namespace plimsoll::engine
